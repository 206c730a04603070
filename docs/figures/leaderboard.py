#!/usr/bin/env python3
"""Writes the tables of docs/leaderboard.md: every scheme on every trace that comes with Frostline.

    cargo build --release -p frostline-cli --features full
    python3 docs/figures/leaderboard.py target/release/frostline

Results that others submitted are files of docs/submitted, as `frostline sim --json FILE` writes them. A run of theirs
becomes a row if trace and setting are those of a table: the digest of the trace decides. Needs nothing but Python.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/leaderboard.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"

# Heading, arguments of the command.
TRACES = [
    ("MariaDB, TPC-C", "traces/mariadb-tpcc.u32.zst --preload traces/mariadb-tpcc.load.u32.zst --zone 4MiB"),
    ("Frostline, TPC-C", "traces/frostline-tpcc.parquet --zone 128KiB"),
    ("Zipf 1.0", "tests/data/zipf10.u32.zst --zone 4MiB"),
]
SETTINGS = [("Garbage proportion 15 %", "--gp 0.15"), ("Over-provisioning 10 %", "--op 0.10")]
FORESIGHT = {"frozen-perfect", "fk", "fk-kmeans", "oracle-death", "oracle-rate", "oracle-rate-frozen", "ora", "oracle-plan"}


def command(trace, setting):
    return f"sim {trace} {setting} --scheme all --no-timing"


def replay(frostline, trace, setting):
    words = command(trace, setting).split()
    done = subprocess.run([frostline, *words, "--quiet", "--json", "-"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def submitted():
    for path in sorted((ROOT / "docs/submitted").glob("*.json")):
        yield path.stem, json.loads(path.read_text())


def same_setting(run, own):
    return run["trigger"] == own["trigger"] and run["zone_pages"] == own["zone_pages"]


def preload(result):
    return result["setup"].get("preload", {}).get("sha256")


def rows(results):
    """Scheme, or scheme and who submitted it: its run on each trace."""
    found = {}
    for column, result in enumerate(results):
        for run in result["runs"]:
            found.setdefault(run["scheme"], {})[column] = run
        for name, other in submitted():
            if other["trace"]["sha256"] != result["trace"]["sha256"] or preload(other) != preload(result):
                continue
            for run in other["runs"]:
                if same_setting(run, result["runs"][0]):
                    found.setdefault(f"{run['scheme']}, by {name}", {})[column] = run
    return found


def cell(run, best):
    if run is None:
        return ""
    waf = f"{run['waf']:.3f}"
    waf = f"**{waf}**" if run["waf"] == best else waf
    return f"{waf} {run['victim']}"


def table(results):
    found = rows(results)
    order = sorted(found, key=lambda name: (name in FORESIGHT, sum(run["waf"] for run in found[name].values()) / len(found[name])))
    columns = range(len(results))
    fair = [run for name in order if name not in FORESIGHT for run in [found[name]]]
    best = [min(runs[c]["waf"] for runs in fair if c in runs) for c in columns]
    yield "| scheme | " + " | ".join(name for name, _ in TRACES) + " |"
    yield "|---|" + "--:|" * len(TRACES)
    for name in order:
        title = f"`{name}`" + (", knows the future" if name in FORESIGHT else "")
        yield f"| {title} | " + " | ".join(cell(found[name].get(c), best[c]) for c in columns) + " |"


def main():
    frostline = sys.argv[1] if len(sys.argv) > 1 else "target/release/frostline"
    frostline = str((Path.cwd() / frostline).resolve())
    version = subprocess.run([frostline, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    parts = [f"Of `{version}`.\n\n"]
    for heading, setting in SETTINGS:
        results = [replay(frostline, trace, setting) for _, trace in TRACES]
        commands = [f"$ frostline {command(trace, setting)}" for _, trace in TRACES]
        lines = [f"## {heading}", "", "```console", *commands, "```", "", *table(results)]
        parts.append("\n".join(lines) + "\n\n")
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "".join(parts) + END + rest.split(END)[1])


main()
