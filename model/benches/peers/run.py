#!/usr/bin/env python3
"""Search one world with several model checkers, and print what each found and what it cost.

The world is the baseline bully, told three times: in Rust (../../src), in TLA+ (Bully.tla, for TLC)
and in Promela (bully.pml, for SPIN). All must count the same states; README.md says more.
"""

import argparse
import json
import signal
import sys
import tempfile
from dataclasses import asdict

import tables
from checkers import (FOR_LIVENESS, FOR_SAFETY, LIVENESS, SAFETY, Failed, GaveUp, Patience, Row,
                      World)

WORLDS = [(3, 1, 0), (3, 1, 1), (3, 2, 1), (3, 2, 2), (4, 1, 0)]


def arguments():
    parser = argparse.ArgumentParser(
        description="Run our checker, stateright, SPIN and TLC on the baseline bully.",
        epilog="--nodes, --crashes and --recoveries may be given several times, together: one of "
        "each is a world. Exit status: 0 all agree; 1 they do not, or one failed; 2 usage.")
    parser.add_argument("--nodes", type=int, action="append", default=[], metavar="N")
    parser.add_argument("--crashes", type=int, action="append", default=[], metavar="C")
    parser.add_argument("--recoveries", type=int, action="append", default=[], metavar="R")
    parser.add_argument("--liveness", action="store_true",
                        help="ask for Stabilises under weak fairness, instead of safety")
    parser.add_argument("--repeat", type=int, default=1, metavar="K",
                        help="search K times and tell the median time [default: 1]")
    parser.add_argument("--max-seconds", type=float, default=Patience.seconds, metavar="S",
                        help="end a search that takes longer [default: none]")
    parser.add_argument("--only", action="append", metavar="WORD",
                        help="only checkers with WORD in their name; may be given again")
    parser.add_argument("--json", metavar="FILE", help="save what was measured")
    parser.add_argument("--markdown", metavar="FILE", help="save the tables")
    given = parser.parse_args()
    if not len(given.nodes) == len(given.crashes) == len(given.recoveries):
        parser.error("give --nodes, --crashes and --recoveries equally often")
    worlds = list(zip(given.nodes, given.crashes, given.recoveries)) or WORLDS
    given.worlds = [World(*world) for world in worlds]
    for nodes, crashes, recoveries in given.worlds:
        # Five nodes: the messages of more do not fit into an int of Promela.
        if not 2 <= nodes <= 5 or not 0 <= crashes <= 100 or not 0 <= recoveries <= 100:
            parser.error("a world has 2 to 5 nodes, and budgets of 0 to 100")
    if given.repeat < 1 or not 0 < given.max_seconds <= Patience.seconds:
        parser.error("--repeat must be at least 1, and --max-seconds more than 0")
    checkers = FOR_LIVENESS if given.liveness else FOR_SAFETY
    words = given.only or [""]
    given.checkers = [c for c in checkers if any(w.lower() in c.name.lower() for w in words)]
    if not given.checkers:
        names = "; ".join(c.name for c in checkers)
        parser.error(f"no checker has such a name; there are: {names}")
    return given


def installed(checkers):
    here = []
    for checker in checkers:
        remedy = checker.missing()
        if remedy:
            print(f"{checker.name}: not installed, left out. To have it: {remedy}.")
        else:
            here.append(checker)
    return here


def search(world, checkers, patience):
    """What each checker finds in one world, and what failed."""
    rows, wrong = [], []
    for checker in checkers:
        with tempfile.TemporaryDirectory(prefix="bellwether-peers-") as folder:
            try:
                rows.append(checker.check(world, patience, folder))
            except GaveUp as reason:
                rows.append(Row(checker.name, gave_up=str(reason)))
            except (Failed, OSError, ValueError, KeyError) as error:
                wrong.append(f"{world}: {checker.name} failed: {error}")
    return rows, wrong


def disagreements(rows):
    """In what the checkers contradict the first of them that found something."""
    rows = [row for row in rows if not row.gave_up]
    for one in rows[:1]:
        for other in rows[1:]:
            for what in ("distinct", "generated"):
                counts = [getattr(row, what) for row in (one, other)]
                if None not in counts and counts[0] != counts[1]:
                    yield f"{what}: {one.checker} {counts[0]:,}, {other.checker} {counts[1]:,}"
            for name in one.verdicts.keys() & other.verdicts.keys():
                first, second = one.verdicts[name], other.verdicts[name]
                shortest = one.shortest and other.shortest
                comparable = shortest and None not in (first.steps, second.steps)
                if first.holds != second.holds or (comparable and first.steps != second.steps):
                    yield f"{name}: {one.checker} {first}, {other.checker} {second}"


def show(world, results, ratios):
    print(world)
    print(tables.plain(results))
    if any(cell.endswith("*") for line in results for cell in line):
        print("* not a shortest counterexample, and not compared")
    print("\n" + tables.plain(ratios), end="\n\n", flush=True)


def main():
    # An end from outside ends the checker that runs, and removes its files.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = arguments()
    checkers = installed(given.checkers)
    if not checkers:
        print("nothing to run", file=sys.stderr)
        return 1
    properties = LIVENESS if given.liveness else SAFETY
    patience = Patience(given.repeat, given.max_seconds)
    saved, pages, wrong = [], [f"{tables.machine()}; medians of {given.repeat}"], []
    for world in given.worlds:
        rows, failed = search(world, checkers, patience)
        wrong += failed + [f"{world}: {w}" for w in disagreements(rows)]
        results, ratios = tables.results(rows, properties), tables.ratios(rows)
        show(world, results, ratios)
        saved.append({"world": world._asdict(), "rows": [asdict(row) for row in rows]})
        pages += [f"### {world}", tables.markdown(results), tables.markdown(ratios)]
        # What has been measured is not lost if what follows is interrupted.
        if given.json:
            with open(given.json, "w", encoding="utf-8") as out:
                json.dump({"machine": tables.machine(), "results": saved}, out, indent=2)
        if given.markdown:
            with open(given.markdown, "w", encoding="utf-8") as out:
                out.write("\n\n".join(pages) + "\n")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    if len(checkers) > 1:
        gave_up = any(row["gave_up"] for result in saved for row in result["rows"])
        who = "All that came to an end" if gave_up else f"All {len(checkers)}"
        print(f"{who} agree in counts and verdicts, in each world.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
