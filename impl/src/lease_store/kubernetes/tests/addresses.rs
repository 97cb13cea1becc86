//! How the store is named, and what is found by that.

use super::*;

fn problem(address: &str, files: &Files) -> String {
    Kubernetes::parse(address, files).expect_err(address)
}

/// The place that an address names, for a lease of this name.
fn target(address: &str, files: &Files, lease: &str) -> StoreResult<Target> {
    let way = Kubernetes::parse(address, files).expect(address);
    let settings = Settings { name: lease.to_owned(), ..settings() };
    way.place.target(&settings, in_pod)
}

/// The variables of a pod.
fn in_pod(name: &str) -> Option<String> {
    match name {
        "KUBERNETES_SERVICE_HOST" => Some("10.96.0.1".to_owned()),
        "KUBERNETES_SERVICE_PORT" => Some("443".to_owned()),
        other => panic!("{other} is not asked for"),
    }
}

#[test]
fn a_lease_has_an_object_of_its_own() {
    for (address, lease, path) in [
        ("kubernetes:shop/leader", "orders", "/namespaces/shop/leases/leader"),
        ("kubernetes:shop/leader", "orders/eu", "/namespaces/shop/leases/leader.eu"),
        ("kubernetes+http://127.0.0.1:8001/a-1/b.c", "o", "/namespaces/a-1/leases/b.c"),
    ] {
        let target = target(address, &Files::default(), lease).expect(address);
        assert_eq!(target.path(), format!("/apis/coordination.k8s.io/v1{path}"));
    }
    let files = Files { ca: Some("ca.pem".into()), ..Files::default() };
    let target = target("kubernetes+https://[fd00::1]:6443/a/b", &files, "o").expect("an address");
    assert_eq!(target.server.to_string(), "https://[fd00::1]:6443");
}

#[test]
fn in_a_pod_kubernetes_says_where_it_is() {
    let target = target("kubernetes:shop/leader", &Files::default(), "o").expect("a pod");
    assert_eq!(target.server.to_string(), "https://10.96.0.1:443");
    assert!(format!("{target:?}").contains("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"));

    let way = Kubernetes::parse("kubernetes:shop/leader", &Files::default()).expect("an address");
    let of = |host: &'static str| {
        let variable =
            move |name: &str| Some(if name.ends_with("HOST") { host } else { "443" }.to_owned());
        way.place.target(&settings(), variable).expect("a pod").server.to_string()
    };
    assert_eq!(of("fd00::1"), "https://[fd00::1]:443");
    let error = way.place.target(&settings(), |_| None).expect_err("no pod").to_string();
    assert!(error.contains("KUBERNETES_SERVICE_HOST") && error.contains("kubernetes+https"));
}

#[test]
fn what_kubernetes_puts_into_a_pod_must_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |address: &str, files: &Files| {
        let way = Kubernetes::parse(address, files).expect(address);
        way.place.check(folder.path(), in_pod).map_err(|error| error.to_string())
    };
    let (object, none) = ("kubernetes:shop/leader", Files::default());
    for file in ["ca.crt", "token", "namespace"] {
        let problem = check("kubernetes", &none).expect_err(file);
        assert!(problem.starts_with("cannot read ") && problem.contains(file), "{problem}");
        assert!(problem.contains("`automountServiceAccountToken`"), "{problem}");
        std::fs::write(folder.path().join(file), "x").expect("ours");
    }
    assert_eq!(check("kubernetes", &none), Ok(()));
    std::fs::remove_file(folder.path().join("namespace")).expect("it is there");
    assert_eq!(check(object, &none), Ok(()), "the address has it");
    std::fs::remove_file(folder.path().join("token")).expect("it is there");
    assert!(check(object, &none).is_err_and(|problem| problem.contains("token")));
    let file = |name: &str| Some(name.into());
    let own = Files { token: file("token"), ca: file("ca.pem"), ..Files::default() };
    assert_eq!(check(object, &own), Ok(()), "other files are in their place");
    let by_certificate =
        Files { certificate: file("own.pem"), key: file("own.key"), ..Files::default() };
    assert_eq!(check(object, &by_certificate), Ok(()), "and no token is shown");
    assert_eq!(check("kubernetes+http://127.0.0.1:1/shop/leader", &none), Ok(()));
}

/// All files are there, and no connection could be made.
#[test]
fn outside_of_a_pod_the_address_must_name_the_server() {
    let check = |address: &str, files: &Files| {
        let way = Kubernetes::parse(address, files).expect(address);
        let folder = Path::new("no folder");
        way.place.check(folder, |_| None).map_err(|error| error.to_string())
    };
    let files =
        Files { ca: Some("ca.pem".into()), token: Some("token".into()), ..Files::default() };
    for (address, files) in [("kubernetes:shop/leader", &files), ("kubernetes", &Files::default())]
    {
        let problem = check(address, files).expect_err(address);
        assert!(problem.starts_with("this is no pod of Kubernetes: KUBERNETES_"), "{problem}");
        assert!(problem.ends_with("; write kubernetes+https://HOST:PORT/NAMESPACE/NAME"));
        assert!(!problem.contains("write kubernetes,") && !problem.contains("kubernetes:NAME"));
    }
    assert_eq!(check("kubernetes+https://10.0.0.1:6443/shop/leader", &files), Ok(()));
}

#[test]
fn a_name_that_kubernetes_does_not_take_is_refused() {
    for lease in ["Orders", "a_b", "-a", "a."] {
        let error = target("kubernetes", &Files::default(), lease).expect_err(lease).to_string();
        assert!(error.contains(lease) && error.contains("kubernetes:NAMESPACE/NAME"), "{error}");
    }
}

#[test]
fn what_is_no_address_is_refused_with_the_remedy() {
    let none = Files::default();
    for address in [
        "kubernetes:",
        "kubernetes:shop",
        "kubernetes:shop/",
        "kubernetes:Shop/a",
        "kubernetes:shop/a/b",
        "kubernetes://shop/a",
        "kubernetes+http://127.0.0.1:1",
        "kubernetes+http://127.0.0.1/shop/a",
        "kubernetes+ftp://127.0.0.1:1/shop/a",
        "kubernetess",
    ] {
        let text = problem(address, &none);
        assert!(text.contains("NAMESPACE") || text.contains("HOST:PORT") || text.contains("small"));
    }
    let far = "kubernetes+http://10.0.0.1:8001/shop/a";
    let token = Files { token: Some("token".into()), ..Files::default() };
    assert!(problem(far, &token).contains("for all to read"));
    assert!(Kubernetes::parse(far, &none).is_ok());
    let ca = Files { ca: Some("ca.pem".into()), ..Files::default() };
    assert!(problem(far, &ca).contains("kubernetes+https"));
    let password = Files { password: Some("x".into()), ..Files::default() };
    assert!(problem("kubernetes", &password).contains("no password"));
    assert!(problem("kubernetes+https://a:1/shop/a", &none).contains("authorities"));
}

#[test]
fn a_person_can_make_the_object() {
    let way = Kubernetes::parse("kubernetes:shop/leader", &Files::default()).expect("an address");
    let text = way.setup(&settings());
    assert!(text.contains("  namespace: shop\n  name: leader\n"), "{text}");
    let way = Kubernetes::parse("kubernetes", &Files::default()).expect("an address");
    let text = way.setup(&settings());
    assert!(text.contains("  namespace: NAMESPACE\n  name: orders\n"), "{text}");
    assert!(way.warning().is_some_and(|text| text.contains("paused")));
}
