//! `bellwether keys`: make what nodes prove themselves with.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use bellwether::NodeId;
use bellwether::internal::config::{ClusterId, SHORTEST_SECRET, certified_name};
use clap::Subcommand;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::ServerName;

use super::{Failure, print};

/// The file with the private key of an authority.
const AUTHORITY_KEY: &str = "ca.key";

/// How much longer an authority is valid than the nodes that are made with it.
const AUTHORITY: u32 = 10;

/// The largest number of days: with it, the authority ends before the year 4000.
const LONGEST: u32 = 50_000;

/// The permissions of a file that must be kept secret, and of one that need not be.
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

/// Make what the nodes of a cluster prove themselves with
///
/// No file is overwritten, and no other user can read one that must be kept secret. Nothing is
/// written before all that is asked for can be had.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether keys secret /etc/bellwether/secret
  bellwether keys init keys --cluster orders --nodes 1,2,3
  bellwether keys node keys --cluster orders --node 4 --host db-4.example.org,10.0.0.4
  bellwether keys client keys --cluster orders --name admin

`init` makes an authority, ca.pem and ca.key, and for each node N a certificate and its private key,
node-N.pem and node-N.key; `node` makes those of one more. Each node needs ca.pem and its own two
files. Keep ca.key elsewhere: it can make any node. The authority is valid ten times as long as the
nodes. Of the nodes, each expires a day before the one that is named before it, so that a cluster
does not lose all at once; none loses more than half of its days. `client` makes a certificate for a
person or a program that asks something of nodes by HTTP.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a secret, for `mode = "secret"`: give every node a copy of the file
    Secret {
        /// The file to write
        file: PathBuf,
    },
    /// Make an authority and the certificates of some nodes, for `mode = "tls"`
    Init {
        /// The directory to write to; made if it does not exist
        directory: PathBuf,

        /// The cluster that the nodes belong to
        #[arg(long, value_name = "NAME")]
        cluster: ClusterId,

        /// The ids of the nodes, as in 1,2,3
        #[arg(long, value_name = "IDS", value_delimiter = ',', required = true)]
        nodes: Vec<NodeId>,

        /// Further names and addresses that the certificates are for, such as those at which the
        /// nodes serve HTTP
        #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = host)]
        host: Vec<String>,

        /// For how many days the certificate of the first node is valid, from yesterday on
        #[arg(long, value_name = "NUMBER", default_value = "365", value_parser = days)]
        days: u32,
    },
    /// Make the certificate of one more node, with the authority that `init` has made
    Node {
        /// The directory of the authority
        directory: PathBuf,

        /// The cluster, as `init` was told
        #[arg(long, value_name = "NAME")]
        cluster: ClusterId,

        /// The id of the node
        #[arg(long, value_name = "ID")]
        node: NodeId,

        /// Further names and addresses that the certificate is for
        #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = host)]
        host: Vec<String>,

        /// How long the certificate is valid, from yesterday on
        #[arg(long, value_name = "NUMBER", default_value = "365", value_parser = days)]
        days: u32,
    },
    /// Make a certificate for a person or a program that asks something of nodes by HTTP
    Client {
        /// The directory of the authority
        directory: PathBuf,

        /// The cluster, as `init` was told
        #[arg(long, value_name = "NAME")]
        cluster: ClusterId,

        /// The name of the person or program, for the files as well
        #[arg(long, value_name = "NAME")]
        name: ClusterId,

        /// How long the certificate is valid, from yesterday on
        #[arg(long, value_name = "NUMBER", default_value = "365", value_parser = days)]
        days: u32,
    },
}

fn days(text: &str) -> Result<u32, String> {
    let days = text.parse::<u32>().ok().filter(|days| (1..=LONGEST).contains(days));
    days.ok_or_else(|| format!("give a whole number of days, from 1 to {LONGEST}"))
}

fn host(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    match ServerName::try_from(name) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("give DNS names and IP addresses, without a port".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        KeysCommand::Secret { file } => write(&[secret(file)])?,
        KeysCommand::Init { directory, cluster, nodes, host, days } => {
            let files = init(directory, cluster, nodes, host, *days)?;
            write(&files)?;
        }
        KeysCommand::Node { directory, cluster, node: id, host, days } => {
            let about = of_node(cluster, *id, host)?;
            let issuer = Issuer::new(authority(cluster, *days), authority_key(directory)?);
            write(&certify(directory, &format!("node-{id}"), &issuer, about, *days)?)?;
        }
        KeysCommand::Client { directory, cluster, name, days } => {
            let about = of_client(cluster, name);
            let issuer = Issuer::new(authority(cluster, *days), authority_key(directory)?);
            write(&certify(directory, &format!("client-{name}"), &issuer, about, *days)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that is to be written.
struct NewFile {
    path: PathBuf,
    text: String,
    /// Its permissions.
    mode: u32,
}

impl NewFile {
    fn private(path: PathBuf, text: String) -> Self {
        Self { path, text, mode: PRIVATE }
    }

    fn public(path: PathBuf, text: String) -> Self {
        Self { path, text, mode: PUBLIC }
    }
}

fn secret(file: &Path) -> NewFile {
    let bytes: [u8; SHORTEST_SECRET] = rand::random();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    NewFile::private(file.to_owned(), digits + "\n")
}

/// The authority and the nodes, of which each is named once.
fn init(
    directory: &Path,
    cluster: &ClusterId,
    nodes: &[NodeId],
    hosts: &[String],
    days: u32,
) -> Result<Vec<NewFile>, Failure> {
    let mut named = BTreeSet::new();
    if let Some(twice) = nodes.iter().find(|&&id| !named.insert(id)) {
        let problem = anyhow!("--nodes names node {twice} twice; name each node once");
        return Err(Failure::configuration(problem));
    }
    let key = KeyPair::generate().map_err(Failure::runtime)?;
    let authority = authority(cluster, days * AUTHORITY);
    let certificate = authority.self_signed(&key).map_err(Failure::runtime)?;
    let mut files = vec![
        NewFile::private(directory.join(AUTHORITY_KEY), key.serialize_pem()),
        NewFile::public(directory.join("ca.pem"), certificate.pem()),
    ];
    let issuer = Issuer::new(authority, key);
    for (&id, earlier) in nodes.iter().zip(0_u32..) {
        let about = of_node(cluster, id, hosts)?;
        let days = days - earlier.min(days / 2);
        files.extend(certify(directory, &format!("node-{id}"), &issuer, about, days)?);
    }
    std::fs::create_dir_all(directory).map_err(|error| cannot(directory, &error))?;
    Ok(files)
}

/// What the certificate of the authority says. Of these, a certificate that it signs repeats the
/// name.
fn authority(cluster: &ClusterId, days: u32) -> CertificateParams {
    let mut about = CertificateParams::default();
    name(&mut about, format!("bellwether authority of {cluster}"));
    is_valid_for(&mut about, days);
    about.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    about.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    about
}

/// The private key that `init` has made.
fn authority_key(directory: &Path) -> Result<KeyPair, Failure> {
    let path = directory.join(AUTHORITY_KEY);
    let key = std::fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
    KeyPair::from_pem(&key)
        .map_err(|error| Failure::runtime(anyhow!("{}: {error}", path.display())))
}

/// What the certificate of a node says.
fn of_node(
    cluster: &ClusterId,
    id: NodeId,
    hosts: &[String],
) -> Result<CertificateParams, Failure> {
    let certified = certified_name(cluster, id).map_err(Failure::configuration)?;
    let names: Vec<String> = [&certified].into_iter().chain(hosts).cloned().collect();
    let mut about = CertificateParams::new(names).map_err(Failure::configuration)?;
    // Each node calls, and is called.
    about.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    name(&mut about, certified);
    Ok(about)
}

/// What the certificate of a person or a program says.
fn of_client(cluster: &ClusterId, client: &ClusterId) -> CertificateParams {
    let mut about = CertificateParams::default();
    about.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    name(&mut about, format!("{client} of {cluster}"));
    about
}

/// Makes a private key, and a certificate that says this, for so many days.
fn certify(
    directory: &Path,
    file: &str,
    issuer: &Issuer<'_, KeyPair>,
    mut about: CertificateParams,
    days: u32,
) -> Result<[NewFile; 2], Failure> {
    is_valid_for(&mut about, days);
    about.use_authority_key_identifier_extension = true;
    about.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate().map_err(Failure::runtime)?;
    let certificate = about.signed_by(&key, issuer).map_err(Failure::runtime)?;
    Ok([
        NewFile::private(directory.join(format!("{file}.key")), key.serialize_pem()),
        NewFile::public(directory.join(format!("{file}.pem")), certificate.pem()),
    ])
}

fn name(about: &mut CertificateParams, name: String) {
    about.distinguished_name = DistinguishedName::new();
    about.distinguished_name.push(DnType::CommonName, name);
}

/// From yesterday on: the clock of a node may be behind.
fn is_valid_for(about: &mut CertificateParams, days: u32) {
    let day = Duration::from_secs(24 * 60 * 60);
    let now = SystemTime::now();
    about.not_before = (now - day).into();
    about.not_after = (now + day * days).into();
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::runtime(anyhow!("cannot use {}: {error}", path.display()))
}

/// Writes files that did not exist: all of them or none.
fn write(files: &[NewFile]) -> Result<(), Failure> {
    let cannot = |file: &NewFile, error: std::io::Error| {
        let path = file.path.display();
        Failure::runtime(anyhow!("cannot write {path}: {error}; name another file or folder"))
    };
    // Of the link itself: one to nowhere is not written through either.
    let there = files.iter().filter(|file| file.path.symlink_metadata().is_ok());
    let there: Vec<_> = there.map(|file| file.path.display().to_string()).collect();
    if !there.is_empty() {
        let more = if there.iter().any(|path| path.ends_with(AUTHORITY_KEY)) {
            ", or make the certificate of one more node of the authority that is there, with \
             `bellwether keys node`"
        } else {
            ""
        };
        let there = there.join(", ");
        return Err(Failure::runtime(anyhow!(
            "no file is overwritten, and these are there already: {there}; keep them, or name \
             another file or folder{more}"
        )));
    }
    for (file, before) in files.iter().zip(0..) {
        if let Err(error) = create(file) {
            for file in &files[..before] {
                // What cannot be removed is overwritten by no later run either.
                let _ = std::fs::remove_file(&file.path);
            }
            return Err(cannot(file, error));
        }
    }
    let paths: String = files.iter().map(|file| format!("{}\n", file.path.display())).collect();
    print(&paths)
}

/// Writes a file that did not exist; if that fails, it does not exist afterwards either.
fn create(NewFile { path, text, mode }: &NewFile) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, *mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}
