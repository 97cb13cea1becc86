#!/usr/bin/env python3
"""Search ever larger worlds of the baseline with our exact engine, and show how its cost grows.

A world that has more of something than one that could not be finished is not tried.
"""

import argparse
import json
import sys

import plot
import tables
from checkers import MEMORY_GIB, OURS, GaveUp, Patience, World

BUDGETS = [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)]
HEAD = ["nodes", "crashes", "recoveries", "states", "generated", "depth", "seconds", "states/s",
        "MiB", "bytes/state"]


def measure(world, patience, max_seconds):
    """What our engine counts and what it takes; of several runs the median one."""
    command = OURS.command(world, "--max-seconds", f"{max_seconds:g}")
    runs = [json.loads(patience.must(command, None, (0, 1, 3)).output)
            for _ in range(patience.times)]
    run = sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]
    return {**world._asdict(), **run["states"], "seconds": run["seconds"],
            "bytes": run["peak_rss_bytes"], "cut_short": run["cut_short"]}


def explore(worlds, patience, max_seconds):
    """The measurements of one world after the other."""
    unfinished = []
    for world in worlds:
        if any(all(more >= less for more, less in zip(world, other)) for other in unfinished):
            continue
        found = measure(world, patience, max_seconds)
        print(" ".join(f"{key}={value}" for key, value in found.items()), flush=True)
        if found["cut_short"]:
            unfinished.append(world)
        yield found


def table(found):
    return [HEAD] + [line(world) for world in found]


def line(world):
    more = "> " if world["cut_short"] else ""
    rates = [world["distinct"] / world["seconds"], world["bytes"] / world["distinct"]]
    # A small world's rates are those of starting the program.
    rate, size = [f"{rate:,.0f}" if world["distinct"] >= 100_000 else "-" for rate in rates]
    counts = [f"{more}{world[key]:,}" for key in ("distinct", "generated", "depth")]
    return [f"{world[key]}" for key in HEAD[:3]] + counts + [
        f"{more}{world['seconds']:.3f}", rate, f"{world['bytes'] / 2**20:,.0f}", size]


def largest(found):
    """The world with the most states of those that were searched to the end."""
    world = max((w for w in found if not w["cut_short"]), key=lambda w: w["distinct"])
    return ("The largest world that was finished: {nodes} nodes, crashes: {crashes}, recoveries: "
            "{recoveries}; {distinct:,} states in {seconds:.1f} s, ".format(**world)
            + f"{world['bytes'] / 2**30:.1f} GiB.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 3, 4, 5, 6], metavar="N")
    parser.add_argument("--max-seconds", type=float, default=300, metavar="S",
                        help="give up a world after so long [default: 300]")
    parser.add_argument("--repeat", type=int, default=1, metavar="K",
                        help="search K times and take the median [default: 1]")
    parser.add_argument("--out", metavar="FILE", help="save the picture (SVG)")
    parser.add_argument("--json", metavar="FILE", help="save what was measured")
    parser.add_argument("--markdown", metavar="FILE", help="save the table")
    given = parser.parse_args()
    worlds = [World(nodes, *budget) for nodes in given.nodes for budget in BUDGETS]
    found = list(explore(worlds, Patience(given.repeat), given.max_seconds))
    pages = [tables.machine(), tables.markdown(table(found)), largest(found)]
    measured = {"machine": tables.machine(), "worlds": found}
    files = {given.out: plot.draw(found, given.max_seconds, MEMORY_GIB * 2**30),
             given.json: json.dumps(measured, indent=2) + "\n",
             given.markdown: "\n\n".join(pages) + "\n"}
    for name in filter(None, files):
        with open(name, "w", encoding="utf-8") as out:
            out.write(files[name])
    print(largest(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
