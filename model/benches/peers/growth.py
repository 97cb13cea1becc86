#!/usr/bin/env python3
"""Search ever larger worlds of the baseline with our exact engine, and show how its cost grows.

A world that has more of something than one that could not be finished is not tried.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from math import log10

import tables
from checkers import MEMORY_GIB, OURS, Patience, World

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
    return [HEAD] + [cells(world) for world in found]


def cells(world):
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


# The picture shows how time and memory grow with the number of states: one SVG, two panels. The
# picture stands alone and brings its own background, so it reads the same on a dark page.
WIDTH, HEIGHT = 960, 500
INK, FAINT, GRID, PAPER = "#1f2933", "#5f6c7b", "#e4e7eb", "#ffffff"
LIMIT = "#b91c1c"

# By the number of nodes: a colour, and a shape around the origin for those who tell no colours.
SERIES = {
    2: ("#7c5cbf", "M0,-5 L5,0 L0,5 L-5,0 Z"),
    3: ("#0f8a6b", "M0,-5.2 L5,4 L-5,4 Z"),
    4: ("#d9631e", "M-4.2,-4.2 H4.2 V4.2 H-4.2 Z"),
    5: ("#2468c4", "M-4.8,0 A4.8,4.8 0 1 1 4.8,0 A4.8,4.8 0 1 1 -4.8,0 Z"),
    6: ("#b3266e", "M0,5.2 L5,-4 L-5,-4 Z"),
}

COUNTS = {1e1: "10", 1e3: "1,000", 1e5: "100,000", 1e7: "10 million", 1e9: "1 billion"}
SECONDS = {1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "0.1 s", 1e0: "1 s", 1e1: "10 s", 1e2: "100 s",
           1e3: "1,000 s"}
BYTES = {4**k * 2**20: f"{4**k} MiB" if k < 5 else f"{4**(k - 5)} GiB" for k in range(1, 9)}


@dataclass
class Scale:
    """Values from `low` to `high` on a logarithmic axis from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value):
        part = log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        return self.start + min(part, 1) * (self.end - self.start)


@dataclass
class Panel:
    """One diagram: `of` says what it shows of a world."""

    title: str
    left: float
    ticks: dict[float, str]
    of: str
    limit: float
    limit_text: str
    # Straight lines of the same slope, each with its words: so much for each state.
    guides: dict[float, str]

    def draw(self, found):
        x = Scale(10, 2e9, self.left, self.left + 370)
        y = Scale(min(self.ticks), max(self.ticks), HEIGHT - 64, 110)
        yield text(self.left, 92, self.title, weight="bold")
        yield from self.axes(x, y)
        for per_state, words in self.guides.items():
            yield from self.guide(x, y, per_state, words)
        yield line(x.start, y(self.limit), x.end, y(self.limit), LIMIT, dashes="5 3")
        yield text(x.start + 6, y(self.limit) - 5, self.limit_text, LIMIT)
        for nodes, (colour, shape) in SERIES.items():
            worlds = sorted((w for w in found if w["nodes"] == nodes), key=lambda w: w["distinct"])
            points = [(x(w["distinct"]), y(w[self.of])) for w in worlds]
            path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
            for world, (px, py) in zip(worlds, points):
                yield mark(px, py, colour, shape, hollow=world["cut_short"])

    def axes(self, x, y):
        for value in (10**k for k in range(1, 10)):
            yield line(x(value), y.start, x(value), y.end, GRID)
            if value in COUNTS:
                yield text(x(value), y.start + 18, COUNTS[value], FAINT, anchor="middle")
        yield text((x.start + x.end) / 2, y.start + 38, "distinct states", anchor="middle")
        for value, words in self.ticks.items():
            yield line(x.start, y(value), x.end, y(value), GRID)
            yield text(x.start - 8, y(value) + 4, words, FAINT, anchor="end")
        yield line(x.start, y.start, x.end, y.start, FAINT)

    def guide(self, x, y, per_state, words):
        """From where it enters the panel to where it leaves it, with its words beside it."""
        low, high = max(x.low, y.low / per_state), min(x.high, y.high / per_state)
        yield line(x(low), y(low * per_state), x(high), y(high * per_state), FAINT, dashes="1 4")
        beside = 2e7
        yield text(x(beside) - 14, y(beside * per_state), words, FAINT, anchor="end")


def line(x1, y1, x2, y2, colour, dashes="none"):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="1" stroke-dasharray="{dashes}"/>')


def text(x, y, words, colour=INK, anchor="start", weight="normal", size=12):
    return (f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}" font-size="{size}">{words}</text>')


def mark(x, y, colour, shape, hollow=False):
    fill, edge = (PAPER, colour) if hollow else (colour, PAPER)
    return (f'<path d="{shape}" transform="translate({x:.1f} {y:.1f})" fill="{fill}" '
            f'stroke="{edge}" stroke-width="1.5"/>')


def legend(found):
    x = 24
    for nodes, (colour, shape) in SERIES.items():
        if any(world["nodes"] == nodes for world in found):
            yield mark(x + 6, 58, colour, shape)
            yield text(x + 17, 62, f"{nodes} nodes")
            x += 92
    if any(world["cut_short"] for world in found):
        yield mark(x + 6, 58, FAINT, SERIES[5][1], hollow=True)
        yield text(x + 17, 62, "reached a limit")


def draw(found, max_seconds, max_bytes):
    panels = [
        Panel("Time", 80, SECONDS, "seconds", max_seconds, f"limit: {max_seconds:g} s",
              {1e-6: "1 million states/s"}),
        Panel("Memory", 560, BYTES, "bytes", max_bytes, f"limit: {max_bytes / 2**30:g} GiB",
              {5: "5 bytes/state"}),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="DejaVu Sans, Verdana, Arial, sans-serif">',
        "<title>Time and memory of the exact engine, by the number of states</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
        text(24, 34, "The baseline bully, searched by the exact engine with 2 threads",
             weight="bold", size=15),
        *legend(found),
        *(part for panel in panels for part in panel.draw(found)),
        "</svg>\n",
    ])


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
    files = {given.out: draw(found, given.max_seconds, MEMORY_GIB * 2**30),
             given.json: json.dumps(measured, indent=2) + "\n",
             given.markdown: "\n\n".join(pages) + "\n"}
    for name in filter(None, files):
        with open(name, "w", encoding="utf-8") as out:
            out.write(files[name])
    print(largest(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
