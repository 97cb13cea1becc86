"""What was measured, as tables: aligned for a terminal, or in Markdown."""

import os
import platform
import resource


def plain(table):
    widths = [max(map(len, column)) for column in zip(*table)]
    right = numeric(table)
    lines = ["  ".join(word.rjust(width) if number else word.ljust(width)
                       for word, width, number in zip(line, widths, right)).rstrip()
             for line in table]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def markdown(table):
    rule = ["---:" if number else "---" for number in numeric(table)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [table[0], rule, *table[1:]])


def numeric(table):
    """Which columns have nothing but numbers under their heads."""
    return [all(cell[:1].isdigit() or cell[:1] in "->" for cell in column[1:])
            for column in zip(*table)]


def results(rows, properties):
    """What each checker found, and what it cost."""
    head = ["checker", "distinct", "generated", "seconds", "states/s", "MiB", "bytes/state"]
    return [head + properties] + [result(row, properties) for row in rows]


def result(row, properties):
    if row.gave_up:
        return [row.checker, "-", "-", row.gave_up] + ["-"] * (3 + len(properties))
    counts = [f"{n:,}" if n else "-" for n in (row.distinct, row.generated)]
    rate = f"{row.distinct / row.median:,.0f}" if row.distinct else "-"
    verdicts = [verdict(row, name) for name in properties]
    return [row.checker, *counts, f"{row.median:.3f}", rate, *memory(row), *verdicts]


def memory(row):
    size = peak(row)
    per_state = f"{size / row.distinct:,.0f}" if size and row.distinct else "-"
    return [f"{size / 2**20:,.0f}" if size else "-", per_state]


def peak(row):
    """Nothing where it would be this script's own memory, which each process starts with."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return row.peak_bytes if row.peak_bytes > floor else None


def verdict(row, name):
    found = row.verdicts.get(name)
    if found is None:
        return "-"
    return str(found) if row.shortest or found.steps is None else f"{found} *"


def ratios(rows):
    """How much longer each takes than each of ours, and how much more memory than the first."""
    rows = [row for row in rows if not row.gave_up]
    ours = [row for row in rows if row.checker.startswith("ours")]
    measures = [("time", own, lambda row: row.median) for own in ours]
    measures += [("memory", own, peak) for own in ours[:1]]
    head = ["checker"] + [f"{what} / {own.checker}" for what, own, _ in measures]
    return [head] + [[row.checker] + [ratio(of(row), of(own)) for _, own, of in measures]
                     for row in rows]


def ratio(one, other):
    if one is None or other is None:
        return "-"
    return f"{one / other:.2f}" if one < 10 * other else f"{one / other:,.0f}"


def machine():
    """The kind of machine this is."""
    names = [platform.processor() or platform.machine()]
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{names[0]}, {os.cpu_count()} processors, {gib:.0f} GiB, {platform.system()}"
