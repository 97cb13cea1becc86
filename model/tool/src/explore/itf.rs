//! An execution in the Informal Trace Format of Apalache (its ADR 015): every state, with the value
//! of every variable, as JSON that other checkers and test generators read.

use super::moment::value;
use bellwether_engine::machine::Timer;
use bellwether_engine::protocol::{Envelope, Id};
use bellwether_engine::trace::{DOWN, Lifeline, Trace};
use bellwether_engine::world::{Action, State, World};
use serde_json::{Map, Value, json};

/// Returns the execution `trace`, whose steps are `actions` in the world, which is
/// [concrete](World::concrete) then: processes know these names.
#[must_use]
pub fn itf(world: &World, trace: &Trace, actions: &[Action]) -> Value {
    let world = &world.concrete();
    let timed = world.scenario().timing.timed().is_some();
    let mut state = world.initial();
    let mut states = vec![variables(&state, timed, "the beginning")];
    for action in actions {
        state = world.apply(&state, action).state;
        states.push(variables(&state, timed, &action.to_string()));
    }
    let shows = trace.header.shows.as_ref();
    let start = shows.and_then(|shows| shows.cycle_after).filter(|after| *after < states.len());
    let start = start.filter(|&start| repeats(&mut states, start));
    let vars: Vec<String> = states[0].keys().cloned().collect();
    for (index, state) in states.iter_mut().enumerate() {
        state.insert("#meta".to_owned(), json!({ "index": index }));
    }
    let mut meta = json!({
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "source": trace.header.protocol,
        "variant": trace.header.variant,
        "scenario": world.scenario().to_string(),
    });
    if let Some(shows) = shows {
        meta["property"] = json!(shows.property);
        meta["formula"] = json!(shows.formula);
    }
    let mut all = json!({ "#meta": meta, "vars": vars, "states": states });
    if let Some(start) = start {
        all["loop"] = json!(start);
    }
    all
}

/// Whether the states from this one on are a loop; then its first state does not stand a second
/// time at the end. Where a symmetry renames what is in the cycle, they are none: the numbers in it
/// go on growing.
fn repeats(states: &mut Vec<Map<String, Value>>, start: usize) -> bool {
    if start + 1 == states.len() {
        // Nothing happens any more.
        return true;
    }
    let without_step = |state: &Map<String, Value>| {
        let mut state = state.clone();
        state.remove(STEP);
        state
    };
    let same = without_step(&states[start]) == without_step(&states[states.len() - 1]);
    if same {
        states.pop();
    }
    same
}

/// The variable that says what has just happened.
const STEP: &str = "step";

/// The values of all variables.
fn variables(state: &State, timed: bool, step: &str) -> Map<String, Value> {
    let each = |of: &dyn Fn(Id) -> Value| {
        let all: Vec<Value> = state.ids().map(|id| json!([number(id), of(id)])).collect();
        json!({ "#map": all })
    };
    let known = |id: Id| match state.up(id) {
        true => expression(&value(&state.process(id))),
        false => json!(DOWN),
    };
    let timers =
        |id: Id| -> Vec<Value> { state.armed(id).map(|timer| json!(timer.plain())).collect() };
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| drop(all.insert(name.to_owned(), value));
    put(STEP, json!(step));
    put("up", each(&|id| json!(state.up(id))));
    put("role", each(&|id| json!(Lifeline::of(state, id).role)));
    put("leader", each(&|id| option(Lifeline::of(state, id).leader.map(number))));
    put("local", each(&known));
    put("stable", each(&|id| expression(&value(&state.stable(id)))));
    put("timers", each(&|id| json!({ "#set": timers(id) })));
    put("in_flight", in_flight(state));
    put("unlinked", unlinked(state));
    put("faults", expression(&value(&state.spent())));
    if timed {
        let clocks = |id: Id| -> Vec<Value> {
            let shown = |timer| state.clock(id, timer).map(|ticks| expression(&json!(ticks)));
            let clock = |timer: Timer| json!([timer.plain(), option(shown(timer))]);
            state.armed(id).map(clock).collect()
        };
        put("paused", each(&|id| json!(state.paused(id))));
        put("clocks", each(&|id| json!({ "#map": clocks(id) })));
    }
    all
}

/// The messages in flight, by link.
fn in_flight(state: &State) -> Value {
    let message = |(at, e): (usize, &Envelope)| {
        let message = expression(&value(&e.message));
        let mut one = json!({ "from": number(e.from), "to": number(e.to), "message": message });
        if let Some(left) = state.ticks_left().get(at) {
            one["ticks"] = expression(&json!(left));
        }
        one
    };
    state.in_flight().iter().enumerate().map(message).collect()
}

/// The links on which nothing arrives: what the first sends does not reach the second.
fn unlinked(state: &State) -> Value {
    let pairs = state.ids().flat_map(|a| state.ids().map(move |b| (a, b)));
    let cut = pairs.filter(|&(a, b)| a != b && !state.connected(a, b));
    let cut = cut.map(|(a, b)| json!({ "#tup": [number(a), number(b)] }));
    json!({ "#set": cut.collect::<Vec<_>>() })
}

fn number(id: Id) -> Value {
    expression(&json!(id.number()))
}

/// Something that may be missing, as a variant.
fn option(value: Option<Value>) -> Value {
    match value {
        Some(value) => json!({ "tag": "Some", "value": value }),
        None => json!({ "tag": "None", "value": { "#tup": [] } }),
    }
}

/// JSON as an expression of the format, in which whole numbers are written out and there is no
/// `null`.
fn expression(value: &Value) -> Value {
    match value {
        Value::Null => option(None),
        Value::Bool(_) | Value::String(_) => value.clone(),
        Value::Number(number) if number.is_f64() => {
            json!({ "#unserializable": number.to_string() })
        }
        Value::Number(number) => json!({ "#bigint": number.to_string() }),
        Value::Array(all) => all.iter().map(expression).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), expression(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expression;
    use serde_json::json;

    #[test]
    fn every_json_is_an_expression() {
        let value = json!({ "term": 3, "log": [1, "a", true], "vote": null });
        let none = json!({ "tag": "None", "value": { "#tup": [] } });
        let written = json!({
            "term": { "#bigint": "3" },
            "log": [{ "#bigint": "1" }, "a", true],
            "vote": none,
        });
        assert_eq!(expression(&value), written);
    }
}
