//! Where the API server and the object are, and what shows that this program may ask.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bellwether_core::store::{LeaseSettings, StoreResult};
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::address::Files;
use crate::http_client::{Client, Server};
use crate::private_file;
use crate::secret;
use crate::tls::Certificates;
use crate::values::unfit;

/// Where Kubernetes puts what a pod needs to ask the API server.
pub(super) const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// After this time a token is read again. Kubernetes writes a new one long before the old one
/// expires.
const TOKEN_AGE: Duration = Duration::from_secs(60);

const FORM: &str = "write kubernetes, kubernetes:NAMESPACE/NAME, or, outside of a pod, \
                    kubernetes+https://HOST:PORT/NAMESPACE/NAME";

/// What helps where Kubernetes says nothing of a server.
const NO_POD: &str = "write kubernetes+https://HOST:PORT/NAMESPACE/NAME";

/// What helps in a pod that has no account.
const NO_ACCOUNT: &str = "Kubernetes puts it into a pod with `automountServiceAccountToken`; or \
                          write kubernetes:NAMESPACE/NAME, and name files of your own";

/// What the address and the files say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// `None` in a pod: Kubernetes says it to each.
    server: Option<Server>,
    /// The namespace and the name of the object; `None` if they are those of the pod and the lease.
    object: Option<(String, String)>,
    files: Files,
}

/// The object, and the server that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) server: Server,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The file with the token, if one is shown.
    token: Option<PathBuf>,
}

impl Place {
    pub(super) fn parse(address: &str, files: &Files) -> Result<Self, String> {
        if files.password.is_some() {
            return Err("Kubernetes takes a token or a certificate, and no password".to_owned());
        }
        let files = files.clone();
        if address == "kubernetes" {
            return Ok(Self { server: None, object: None, files });
        }
        if let Some(object) = address.strip_prefix("kubernetes:")
            && !object.starts_with('/')
        {
            return Ok(Self { server: None, object: Some(object_of(object)?), files });
        }
        let rest = address.strip_prefix("kubernetes+").and_then(|rest| rest.split_once("://"));
        let (scheme, rest) = rest.ok_or(FORM)?;
        let (server, object) = rest.split_once('/').ok_or(FORM)?;
        let certificates = match scheme {
            "https" => Some(Certificates::of(&files, None)?),
            "http" if files.ca.is_some() || files.certificate.is_some() => {
                return Err("certificates are for TLS: write kubernetes+https://".to_owned());
            }
            "http" => None,
            _ => return Err(FORM.to_owned()),
        };
        let server = Server::parse(server, certificates)?;
        if files.token.is_some() && server.is_exposed() {
            return Err(format!("the token would go over a network for all to read; {FORM}"));
        }
        Ok(Self { server: Some(server), object: Some(object_of(object)?), files })
    }

    /// Looks whether Kubernetes has said where its server is, and has put what is asked of it into
    /// this folder. `variable` returns a variable of the environment.
    pub(super) fn check(
        &self,
        account: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> StoreResult<()> {
        if self.server.is_some() {
            return Ok(());
        }
        in_cluster(variable)?;
        let Files { ca, certificate, token, .. } = &self.files;
        let needed = [
            ("ca.crt", ca.is_none()),
            ("token", token.is_none() && certificate.is_none()),
            ("namespace", self.object.is_none()),
        ];
        for (file, _) in needed.into_iter().filter(|&(_, is_needed)| is_needed) {
            let read = private_file::read_public(&account.join(file));
            read.map_err(|error| unfit(error.to_string(), NO_ACCOUNT))?;
        }
        Ok(())
    }

    /// Finds the object of a lease. `variable` returns a variable of the environment.
    pub(super) fn target(
        &self,
        settings: &LeaseSettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> StoreResult<Target> {
        let in_pod = |file: &str| PathBuf::from(ACCOUNT).join(file);
        let (server, token) = match &self.server {
            Some(server) => (server.clone(), self.files.token.clone()),
            None => {
                let address = in_cluster(variable)?;
                let parsed = Certificates::of(&self.files, Some(in_pod("ca.crt")))
                    .and_then(|certificates| Server::parse(&address, Some(certificates)));
                let server = parsed.map_err(|problem| unfit(problem, FORM))?;
                let own = self.files.certificate.is_none().then(|| in_pod("token"));
                (server, self.files.token.clone().or(own))
            }
        };
        let name = self.name(settings);
        if !is_name(&name) {
            let problem = format!("`{name}` cannot be the name of a Lease");
            return Err(unfit(problem, "write kubernetes:NAMESPACE/NAME, in small letters"));
        }
        let namespace = match &self.object {
            Some((namespace, _)) => namespace.clone(),
            None => {
                let file = in_pod("namespace");
                let read = fs::read_to_string(&file)
                    .map_err(|error| format!("cannot read {}: {error}", file.display()));
                read.map_err(|problem| unfit(problem, NO_ACCOUNT))?.trim().to_owned()
            }
        };
        if !is_name(&namespace) {
            return Err(unfit(format!("`{namespace}` is no namespace"), FORM));
        }
        Ok(Target { server, namespace, name, token })
    }

    /// The name of the object: that of the lease, unless the address has one. Each group has an
    /// object of its own.
    fn name(&self, settings: &LeaseSettings) -> String {
        match (&self.object, settings.name.split_once('/')) {
            (Some((_, name)), Some((_, group))) => format!("{name}.{}", group.replace('/', ".")),
            (Some((_, name)), None) => name.clone(),
            (None, _) => settings.name.replace('/', "."),
        }
    }

    /// The object of a lease for a person who reads: with what is not known here in capitals.
    pub(super) fn shown(&self, settings: &LeaseSettings) -> (String, String) {
        let namespace =
            self.object.as_ref().map_or("NAMESPACE", |(namespace, _)| namespace.as_str());
        (namespace.to_owned(), self.name(settings))
    }
}

impl Target {
    /// The path of all objects of the namespace.
    pub(super) fn all(&self) -> String {
        format!("/apis/{}/namespaces/{}/leases", super::API, self.namespace)
    }

    /// The path of the object.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.all(), self.name)
    }

    /// The path that tells of changes of the object after this version; without a version, it
    /// begins with the object as it is.
    pub(super) fn watch(&self, version: Option<&str>, seconds: u64) -> String {
        // Other characters would end the field: no API server writes such a version.
        let plain = |c: &char| c.is_ascii_alphanumeric() || "-._~".contains(*c);
        let version = version.map(|version| version.chars().filter(plain).collect::<String>());
        let from = version.map(|version| format!("&resourceVersion={version}"));
        format!(
            "{}?watch=1&fieldSelector=metadata.name%3D{}&timeoutSeconds={seconds}{}",
            self.all(),
            self.name,
            from.unwrap_or_default()
        )
    }
}

/// The token that is shown to the API server.
pub(super) struct Token {
    file: Option<PathBuf>,
    read: Option<Instant>,
}

impl Token {
    pub(super) fn of(target: &Target) -> Self {
        Self { file: target.token.clone(), read: None }
    }

    /// Has the client show the token of the file, which is read anew if that was long ago.
    pub(super) fn show(&mut self, client: &mut Client) -> StoreResult<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if self.read.is_none_or(|read| read.elapsed() >= TOKEN_AGE) {
            let token = secret::token(file)?;
            let credential = Zeroizing::new(format!("Bearer {}", token.as_str()));
            client.authorize(&credential)?;
            self.read = Some(Instant::now());
        }
        Ok(())
    }
}

/// The address that Kubernetes gives to each pod.
fn in_cluster(variable: impl Fn(&str) -> Option<String>) -> StoreResult<String> {
    let said = (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"));
    let (Some(host), Some(port)) = said else {
        let problem = "this is no pod of Kubernetes: KUBERNETES_SERVICE_HOST and \
                       KUBERNETES_SERVICE_PORT are not set";
        return Err(unfit(problem, NO_POD));
    };
    let v6 = host.contains(':') && !host.starts_with('[');
    Ok(if v6 { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

fn object_of(text: &str) -> Result<(String, String), String> {
    let (namespace, name) = text.split_once('/').ok_or(FORM)?;
    if is_name(namespace) && is_name(name) {
        Ok((namespace.to_owned(), name.to_owned()))
    } else {
        Err(format!("`{text}` is no namespace and name: small letters, digits, `-` and `.`"))
    }
}

/// Whether Kubernetes takes it as the name of an object.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=253).contains(&text.len())
        && text.chars().all(|c| plain(c) || c == '-' || c == '.')
        && text.starts_with(plain)
        && text.ends_with(plain)
}
