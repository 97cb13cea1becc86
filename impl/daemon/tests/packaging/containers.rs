//! The files for Docker and Kubernetes agree with each other and with the configuration: names of
//! nodes, ports, paths and users. Neither of the two runs here, but the proxy that sends
//! connections to the leader does.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{after, has, notice, read, shipped};
use crate::common::{Process, Served, free_address, get, wait_until};

const FOLDER: &str = "packaging/containers";

const PROXY: &str = "packaging/containers/haproxy.cfg";

/// What turns the documents of YAML into a list in JSON.
const TO_JSON: &str =
    "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)";

/// What the configuration of the nodes says.
struct Configured {
    /// The hosts of nodes 1, 2 and so on.
    hosts: Vec<String>,
    /// The port at which they listen to each other.
    nodes: u64,
    /// The port at which they serve HTTP.
    http: u64,
    secret: String,
}

impl Configured {
    fn read() -> Self {
        let text = read(&format!("{FOLDER}/bellwether.toml"));
        let file: toml::Table = text.parse().expect("TOML");
        let text = |value: &toml::Value| value.as_str().expect("a text").to_owned();
        let nodes = port(&text(&file["listen"]));
        let members = file["members"].as_table().expect("members");
        let hosts = (1..=members.len()).map(|node| {
            let address = text(&members[&node.to_string()]);
            assert_eq!(port(&address), nodes, "where they listen");
            address.split(':').next().expect("a host").to_owned()
        });
        Self {
            hosts: hosts.collect(),
            nodes,
            http: port(&text(&file["http"]["listen"])),
            secret: text(&file["security"]["secret_file"]),
        }
    }
}

fn port(address: &str) -> u64 {
    address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
}

/// What the image says.
struct Image {
    configuration: String,
    state: String,
    user: u64,
}

impl Image {
    fn read() -> Self {
        let text = read("packaging/Containerfile");
        let user = after(&text, "\nUSER ").split(':').next().expect("a user");
        assert_eq!(after(&text, "--uid "), user);
        Self {
            configuration: after(&text, "BELLWETHER_CONFIG=").to_owned(),
            state: after(&text, "BELLWETHER_DATA_DIR=").to_owned(),
            user: user.parse().expect("a number"),
        }
    }
}

/// The documents of a file in YAML, where they can be read.
fn documents(name: &str) -> Option<Vec<Value>> {
    if !has("python3") {
        return None;
    }
    let file = File::open(shipped(&format!("{FOLDER}/{name}"))).expect("it is there");
    let output = Command::new("python3").args(["-c", TO_JSON]).stdin(file).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("No module named 'yaml'") {
        notice("skipped: python3 reads YAML only with the module yaml");
        return None;
    }
    assert!(output.status.success(), "{name}: {said}");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// The document of this kind.
fn of_kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let found = documents.iter().find(|document| document["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

/// The element of a list with this name.
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list.as_array().expect("a list").iter().find(|element| element["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn compose_gives_each_node_its_name_its_number_and_its_files() {
    let Some(documents) = documents("compose.yaml") else { return };
    let (configured, image) = (Configured::read(), Image::read());
    let services = &documents[0]["services"];
    let count = services.as_object().map(serde_json::Map::len);
    assert_eq!(count, Some(configured.hosts.len() + 1), "the nodes and the proxy");
    for (node, host) in (1..).zip(&configured.hosts) {
        let service = &services[format!("bellwether-{node}")];
        assert_eq!(service["environment"]["BELLWETHER_NODE"], node.to_string());
        assert_eq!(service["networks"]["default"]["aliases"], json!([host]));
        let volumes = [
            format!("./bellwether.toml:{}:ro", image.configuration),
            format!("./secret:{}:ro", configured.secret),
            format!("state-{node}:{}", image.state),
        ];
        assert_eq!(service["volumes"], json!(volumes));
        assert!(documents[0]["volumes"].get(format!("state-{node}")).is_some());
        assert_eq!(service["build"]["dockerfile"], "packaging/Containerfile");
        assert_eq!(service["build"]["context"], "../..");
        assert_eq!(service["healthcheck"]["test"], json!(["CMD", "bellwether", "status"]));
    }
    let port = after(&read(PROXY), "bind :").to_owned();
    assert_eq!(services["proxy"]["ports"], json!([format!("127.0.0.1:{port}:{port}")]));
}

#[test]
fn pods_have_the_names_that_the_configuration_says() {
    let Some(documents) = documents("nodes.yaml") else { return };
    let configured = Configured::read();
    let set = of_kind(&documents, "StatefulSet");
    let replicas = set["spec"]["replicas"].as_u64().expect("a number");
    let start = set["spec"]["ordinals"]["start"].as_u64().expect("a number");
    let name = set["metadata"]["name"].as_str().expect("a name");
    let service = set["spec"]["serviceName"].as_str().expect("a name");
    let pods = (start..start + replicas).map(|number| format!("{name}-{number}.{service}"));
    assert_eq!(pods.collect::<Vec<_>>(), configured.hosts);
    // The number of a pod is that of the node.
    assert_eq!(start, 1);
    // Each can be reached before it is ready, and all start at once: none is ready alone.
    let found = of_kind(&documents, "Service");
    assert_eq!(found["metadata"]["name"], service);
    assert_eq!(found["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(found["spec"]["clusterIP"], "None");
    assert_eq!(set["spec"]["podManagementPolicy"], "Parallel");
    let label = &set["spec"]["template"]["metadata"]["labels"];
    let budget = of_kind(&documents, "PodDisruptionBudget");
    for selector in [
        &found["spec"]["selector"],
        &set["spec"]["selector"]["matchLabels"],
        &budget["spec"]["selector"]["matchLabels"],
    ] {
        assert_eq!(selector, label);
    }
}

#[test]
fn pods_have_the_ports_the_probes_and_the_files_that_the_configuration_says() {
    let Some(documents) = documents("nodes.yaml") else { return };
    let (configured, image) = (Configured::read(), Image::read());
    let pod = &of_kind(&documents, "StatefulSet")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let service = of_kind(&documents, "Service");
    for (name, port) in [("nodes", configured.nodes), ("http", configured.http)] {
        assert_eq!(named(&container["ports"], name)["containerPort"], port);
        assert_eq!(named(&service["spec"]["ports"], name)["port"], port);
    }
    for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        assert!(bellwether::http::ENDPOINTS.contains(&("GET", path)));
        assert_eq!(container[probe]["httpGet"], json!({ "path": path, "port": "http" }));
    }
    let places = [
        ("configuration", image.configuration.strip_suffix("/bellwether.toml")),
        ("keys", configured.secret.strip_suffix("/secret")),
        ("state", Some(image.state.as_str())),
    ];
    for (name, place) in places {
        assert_eq!(named(&container["volumeMounts"], name)["mountPath"], json!(place));
    }
    for key in ["runAsUser", "runAsGroup", "fsGroup"] {
        assert_eq!(pod["securityContext"][key], image.user, "{key}");
    }
    // The group may read the secret, and no other.
    assert_eq!(named(&pod["volumes"], "keys")["secret"]["defaultMode"], 0o440);
}

#[test]
fn what_kustomize_makes_is_what_the_pods_name() {
    let Some(documents) = documents("kustomization.yaml") else { return };
    let [kustomization] = &documents[..] else { panic!("one document") };
    let made = &kustomization["configMapGenerator"];
    for (name, file) in [("bellwether", "bellwether.toml"), ("bellwether-proxy", "haproxy.cfg")] {
        assert_eq!(named(made, name)["files"], json!([file]));
        assert!(shipped(&format!("{FOLDER}/{file}")).is_file());
    }
    for file in kustomization["resources"].as_array().expect("a list") {
        let file = file.as_str().expect("a name");
        let text = read(&format!("{FOLDER}/{file}"));
        let name = after(&text, "configMap:\n            name:");
        named(made, name);
    }
}

#[test]
fn kubectl_makes_one_of_all_files() {
    if !has("kubectl") {
        return;
    }
    let mut command = Command::new("kubectl");
    command.arg("kustomize").arg(shipped(FOLDER)).stdin(Stdio::null());
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    for kind in ["StatefulSet", "Deployment", "PodDisruptionBudget", "ConfigMap"] {
        assert!(text.contains(&format!("kind: {kind}\n")), "no {kind} in {text}");
    }
}

#[test]
fn the_service_of_the_leader_is_that_of_the_proxy() {
    let Some(documents) = documents("proxy.yaml") else { return };
    let deployment = of_kind(&documents, "Deployment");
    let service = of_kind(&documents, "Service");
    let template = &deployment["spec"]["template"];
    assert_eq!(service["spec"]["selector"], template["metadata"]["labels"]);
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]);
    let port: u64 = after(&read(PROXY), "bind :").parse().expect("a port");
    let container = &template["spec"]["containers"][0];
    assert_eq!(container["ports"][0]["containerPort"], port);
    assert_eq!(service["spec"]["ports"][0]["port"], port);
}

/// The lines that name a server, without the keyword.
fn servers(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("server ")).collect()
}

#[test]
fn it_asks_each_node_where_the_configuration_says_that_it_serves_http() {
    let (text, configured) = (read(PROXY), Configured::read());
    let http = configured.http;
    let hosts = (1..).zip(&configured.hosts);
    let wanted: Vec<String> =
        hosts.map(|(node, host)| format!("node-{node} \"{host}${{DOMAIN}}:{http}\"")).collect();
    assert_eq!(servers(&text), wanted);
    assert_eq!(after(&text, "check port "), http.to_string());
    assert!(bellwether::http::ENDPOINTS.contains(&("GET", after(&text, " uri "))), "{text}");
}

#[test]
fn what_it_asks_is_answered_with_its_status_by_the_leader_alone() {
    let text = read(PROXY);
    let path = after(&text, " uri ");
    let wanted: u16 = after(&text, "expect status ").parse().expect("a status");
    let mut served = Served::led(3);
    let (leader, _) = served.leader();
    for node in 1..=3 {
        let (code, said) = get(&served.url(node, path)).expect("it answers");
        assert_eq!(code == wanted, node == leader, "node {node}: {code}: {said}");
    }
    if has("haproxy") {
        follows_the_leader(&text, &mut served, leader);
    }
}

/// The proxy itself, whose servers are the nodes that are served here.
fn follows_the_leader(text: &str, served: &mut Served, leader: u16) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    let address = free_address();
    let mut text = text.replace("bind :5000", &format!("bind {address}"));
    // Each node has a port of its own here, and no name.
    text = text.replace(" port 8080", "").replace(" resolvers system init-addr none", "");
    text = text.replace("    parse-resolv-conf\n", "    nameserver none 127.0.0.1:9\n");
    let before = text.clone();
    for (line, host) in servers(&before).into_iter().zip(served.http.values()) {
        let (name, _) = line.split_once(' ').expect("a name");
        text = text.replace(line, &format!("{name} {host}"));
    }
    fs::write(at("haproxy.cfg"), &text).expect("writable");
    let log = File::create(at("log")).expect("writable");
    let other = log.try_clone().expect("a second handle");
    let mut command = Command::new("haproxy");
    command.arg("-f").arg(at("haproxy.cfg")).stdout(log).stderr(other);
    let _proxy = Process::start(&mut command);

    let said = || fs::read_to_string(at("log")).unwrap_or_default();
    let reaches = |leader: u16| {
        let (code, text) = get(&format!("http://{address}/leader"))?;
        let answer: Value = serde_json::from_str(&text).ok()?;
        Some(code == 200 && answer["node"] == leader)
    };
    wait_until("it reaches the leader", || reaches(leader) == Some(true), said);
    served.kill(leader);
    let (next, _) = served.leader();
    wait_until("it reaches the next", || reaches(next) == Some(true), said);
}
