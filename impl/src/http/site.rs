//! Pages of other sites. A browser sends what such a page asks for, with the certificate of its
//! user, and says in headers from which site the page is. A page whose name leads to the address of
//! the node is of the same site by these; the request names that host.

use axum::http::HeaderMap;
use axum::http::uri::Authority;

/// Returns the problem with a request that a page of another site may have sent. Programs that are
/// no browser send neither `Sec-Fetch-Site` nor `Origin`.
pub(super) fn problem(headers: &HeaderMap, is_served: impl Fn(&str) -> bool) -> Option<String> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let (host, origin) = (text("host"), text("origin"));
    let is_foreign = match text("sec-fetch-site") {
        Some(site) => !["same-origin", "none"].contains(&site),
        None => origin.is_some_and(|origin| {
            origin.split_once("://").is_none_or(|(_, authority)| Some(authority) != host)
        }),
    };
    if is_foreign {
        let origin = origin.unwrap_or("unknown");
        return Some(format!(
            "a page of another site ({origin}) asks this: send it with `bellwether`, or with a \
             program that is no browser"
        ));
    }
    let host = host?;
    let authority = host.parse::<Authority>().ok();
    let name = authority.as_ref().map(|of| of.host().trim_matches(['[', ']']));
    if name.is_some_and(is_served) {
        return None;
    }
    Some(format!(
        "this node does not serve the host `{host}`: use its IP address, the name in `listen` \
         under [http] or in [members], or a name in its certificate"
    ))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_request_of_another_site_or_host_is_refused_and_that_of_a_program_is_not() {
        let is_refused = |pairs: &[(&'static str, &'static str)]| {
            let pair = |&(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let headers: HeaderMap = pairs.iter().map(pair).collect();
            problem(&headers, |name| ["::1", "db"].contains(&name)).is_some()
        };
        let (host, origin) = (|host| ("host", host), |origin| ("origin", origin));
        let site = |site| ("sec-fetch-site", site);
        for good in [
            &[host("db")][..],
            &[],
            &[host("db:80")],
            &[host("[::1]:80")],
            &[host("db:80"), origin("http://db:80")],
            &[host("db:80"), origin("https://shop"), site("same-origin")],
            &[host("db:80"), site("none")],
        ] {
            assert!(!is_refused(good), "{good:?}");
        }
        for bad in [
            &[host("shop")][..],
            &[host("")],
            &[host("shop"), origin("http://shop")],
            &[host("shop"), origin("http://shop"), site("same-origin")],
            &[host("db:80"), origin("http://db:81")],
            &[host("db"), origin("null")],
            &[origin("http://db")],
            &[host("db:80"), site("cross-site")],
            &[host("db:80"), origin("http://db:80"), site("same-site")],
        ] {
            assert!(is_refused(bad), "{bad:?}");
        }
    }
}
