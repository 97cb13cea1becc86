//! `bellwether keys`: make what nodes prove themselves with.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use bellwether::NodeId;
use bellwether::config::{ClusterId, SHORTEST_SECRET, certified_name};
use clap::Subcommand;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

use super::{Failure, print};

/// The permissions of a file that must be kept secret, and of one that need not be.
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

/// Make what the nodes of a cluster prove themselves with
///
/// No file is overwritten, and no other user can read one that must be kept secret.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether keys secret /etc/bellwether/secret
  bellwether keys init keys --cluster orders --nodes 1,2,3
  bellwether keys node keys --cluster orders --node 4

`init` makes an authority, ca.pem and ca.key, and for each node N a certificate and its private key,
node-N.pem and node-N.key; `node` makes those of one more. Each node needs ca.pem and its own two
files. Keep ca.key elsewhere: it can make any node.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
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

        /// How long the certificates are valid, from yesterday on
        #[arg(long, value_name = "NUMBER", default_value = "365")]
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

        /// How long the certificate is valid, from yesterday on
        #[arg(long, value_name = "NUMBER", default_value = "365")]
        days: u32,
    },
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        What::Secret { file } => secret(file)?,
        What::Init { directory, cluster, nodes, days } => {
            std::fs::create_dir_all(directory).map_err(|error| cannot(directory, &error))?;
            let key = KeyPair::generate().map_err(Failure::runtime)?;
            create(&directory.join("ca.key"), &key.serialize_pem(), PRIVATE)?;
            let authority = authority(cluster, *days);
            let certificate = authority.self_signed(&key).map_err(Failure::runtime)?;
            create(&directory.join("ca.pem"), &certificate.pem(), PUBLIC)?;
            let issuer = Issuer::new(authority, key);
            for &id in nodes {
                node(directory, &issuer, cluster, id, *days)?;
            }
        }
        What::Node { directory, cluster, node: id, days } => {
            let path = directory.join("ca.key");
            let key = std::fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
            let key = KeyPair::from_pem(&key)
                .map_err(|error| Failure::runtime(anyhow!("{}: {error}", path.display())))?;
            node(directory, &Issuer::new(authority(cluster, *days), key), cluster, *id, *days)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn secret(file: &Path) -> Result<(), Failure> {
    let bytes: [u8; SHORTEST_SECRET] = rand::random();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    create(file, &(digits + "\n"), PRIVATE)
}

/// What the certificate of the authority says. Of these, a certificate that it signs repeats the
/// name.
fn authority(cluster: &ClusterId, days: u32) -> CertificateParams {
    let mut about = CertificateParams::default();
    name(&mut about, format!("bellwether authority of {cluster}"), days);
    about.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    about.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    about
}

/// Makes the certificate and the private key of a node.
fn node(
    directory: &Path,
    issuer: &Issuer<'_, KeyPair>,
    cluster: &ClusterId,
    id: NodeId,
    days: u32,
) -> Result<(), Failure> {
    let certified = certified_name(cluster, id).map_err(Failure::configuration)?;
    let mut about = CertificateParams::new([certified.clone()]).map_err(Failure::runtime)?;
    name(&mut about, certified, days);
    about.use_authority_key_identifier_extension = true;
    about.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // Each node calls, and is called.
    about.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(Failure::runtime)?;
    let certificate = about.signed_by(&key, issuer).map_err(Failure::runtime)?;
    create(&directory.join(format!("node-{id}.key")), &key.serialize_pem(), PRIVATE)?;
    create(&directory.join(format!("node-{id}.pem")), &certificate.pem(), PUBLIC)
}

fn name(about: &mut CertificateParams, name: String, days: u32) {
    let day = Duration::from_secs(24 * 60 * 60);
    let now = SystemTime::now();
    about.distinguished_name = DistinguishedName::new();
    about.distinguished_name.push(DnType::CommonName, name);
    about.not_before = (now - day).into();
    about.not_after = (now + day * days).into();
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::runtime(anyhow!("cannot use {}: {error}", path.display()))
}

/// Writes a file that did not exist.
fn create(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let cannot = |error| Failure::runtime(anyhow!("cannot write {}: {error}", path.display()));
    written.map_err(cannot)?;
    print(&format!("{}\n", path.display()))
}
