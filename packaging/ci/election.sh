#!/usr/bin/env bash
set -euo pipefail

cargo build --release --workspace --locked
model=target/release/bellwether-model
bridge=target/release/bellwether-conformance
out=${OUT:-out}
mkdir -p "$out"

# What we rely on, in the world that we expect.
world=(--nodes 3 --crashes 1 --recoveries 1 --network fifo --timing perfect --start converged)
rely_on=(--property agreement --property validity --property decided --property stabilises)

"$model" check bully "${world[@]}" "${rely_on[@]}" --max-seconds 120 --out "$out/check"
"$model" check bully "${world[@]}" "${rely_on[@]}" --max-seconds 120 --json > "$out/check.json"
jq --exit-status '.properties | length == 4 and all(.verdict == "holds")' \
  "$out/check.json" > /dev/null

# What we know to fail: after a restart, two may lead for a moment. Exactly 1, or something changed.
status=0
"$model" check bully "${world[@]}" --property at-most-one-leader --out "$out/known" > /dev/null ||
  status=$?
test "$status" -eq 1

# The program does what the model does: everywhere in two worlds, and on the saved execution.
"$bridge" lockstep bully "${world[@]}" --max-seconds 120 --out "$out/divergence.ndjson"
"$bridge" lockstep bully --nodes 3 --crashes 1 --timing asynchronous --capacity 2 \
  --max-seconds 120 --out "$out/divergence.ndjson"
"$bridge" replay "$out/known/bully-at-most-one-leader.ndjson"
