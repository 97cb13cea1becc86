//! The list of members, and how it is changed.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::control::{self, Allowed, asked};
use super::{Shared, refuse};
use crate::config::MemberChange;
use crate::driver::MembersError;

/// The list that is decided, and the one that is pending, if there is one.
pub(super) async fn members(State(shared): State<Shared>) -> Response {
    let (list, next) = shared.handle.lists();
    Json(json!({ "list": list, "next": next })).into_response()
}

/// What is to be changed: `?change=add&node=4&address=10.0.0.4:7000`.
pub(super) struct Change(MemberChange);

impl FromRequestParts<Shared> for Change {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Response> {
        #[derive(Deserialize)]
        struct Asked {
            change: String,
            node: String,
            address: Option<String>,
        }
        let read = |Asked { change, node, address }: Asked| {
            let node = node.parse().map_err(|error| format!("{error}"))?;
            let address = || {
                let address = address.ok_or("`address` is missing: HOST:PORT of the node")?;
                address.parse().map_err(|error| format!("{error}"))
            };
            Ok(Self(match change.as_str() {
                "add" => MemberChange::Add(node, address()?),
                "add-observer" => MemberChange::AddObserver(node, address()?),
                "remove" => MemberChange::Remove(node),
                "observe" => MemberChange::Observe(node),
                "vote" => MemberChange::Vote(node),
                _ => {
                    let all = "add, add-observer, remove, observe or vote";
                    return Err(format!("`{change}` is no change of the members: use {all}"));
                }
            }))
        };
        asked(parts, read).map_err(|error| control::bad(&error))
    }
}

/// Changes the members. It is done when the new list is decided.
pub(super) async fn change(
    _: Allowed,
    State(shared): State<Shared>,
    Change(change): Change,
) -> Response {
    match shared.handle.change_members(&change).await {
        Ok(config_epoch) => {
            Json(json!({ "done": true, "config_epoch": config_epoch })).into_response()
        }
        Err(MembersError::Request(error)) => control::answer(Ok(Err(error))),
        Err(error) => {
            let status = match error {
                MembersError::Change { .. } => StatusCode::BAD_REQUEST,
                MembersError::Undecided { .. } => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::CONFLICT,
            };
            refuse(status, &error)
        }
    }
}
