#!/usr/bin/env python3
"""Counts the settings in which `survival` is behind the best published scheme. Needs nothing but Python, and `zstd` for `.zst`.

    cargo build --release
    python3 docs/figures/behind.py target/release/frostline FOLDER

A trace is FOLDER/NAME.u32 or .u32.zst; its load, if there is one, NAME.load.u32. Uniform and Zipf volumes are generated. Each
trace is tried whole, with its load first, its first tenth and quarter, and the load alone: in zones of five sizes, at three
garbage proportions if the data fill eight zones, at three over-provisionings if five zones are spare. It takes about an hour
for six traces of ten million writes. `-v` lists the settings that are behind.
"""

import collections
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import geometric_mean

RIVALS = "sepgc,sepbit,uw,gw,dac,2r-fifo"
ZONES = {"256KiB": 64, "1MiB": 256, "4MiB": 1024, "16MiB": 4096, "64MiB": 16384}
SHARES = [("--gp", share) for share in ("0.05", "0.15", "0.50")] + [("--op", share) for share in ("0.07", "0.10", "0.20")]
GENERATED = {"uniform": ["uniform"], "zipf 1.0": ["zipf", "--alpha", "1"], "zipf 0.8": ["zipf", "--alpha", "0.8"], "oltp": ["oltp"]}


def volumes(program, folder, work):
    """Kind, name, trace and preload of each volume."""
    traces = {}
    for path in sorted(folder.glob("*.u32*")):
        name = path.name.removesuffix(".zst").removesuffix(".u32")
        bytes_of = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout if path.suffix == ".zst" else path.read_bytes()
        (work / f"{name}.u32").write_bytes(bytes_of)
        traces[name] = work / f"{name}.u32"
    for name, kind in GENERATED.items():
        trace = work / f"{name}.u32"
        make = [program, "gen", *kind, "--pages", "131072", "--writes", "1500000", "--fill", "--seed", "1", "-q", "-o", trace]
        subprocess.run(make, check=True)
        yield ("uniform" if name == "uniform" else "whole"), name, trace, None
    for name, trace in traces.items():
        if name.endswith(".load"):
            yield "load alone", name, trace, None
            continue
        load = traces.get(f"{name}.load")
        yield "whole", name, trace, None
        if load:
            yield "whole", f"{name}, load first", trace, load
        words = trace.read_bytes()
        for part in (10, 4):
            begin = work / f"{name}.{part}.u32"
            begin.write_bytes(words[: len(words) // 4 // part * 4])
            yield "beginning", f"1/{part} of {name}", begin, None


def pages(*paths):
    words = (memoryview(path.read_bytes()).cast("I") for path in paths if path)
    return len(set(itertools.chain.from_iterable(words)))


def waf(program, schemes, zone, trigger, trace, load, victims=None):
    """The least WAF of the schemes, with each of these victims or their own; none if the setting is refused."""
    more = [*(["--preload", load] if load else []), *(["--victim", victims] if victims else [])]
    command = [program, "sim", trace, *more, "--zone", zone, *trigger, "--scheme", schemes, "--no-gain", "--no-timing", "-q", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    return min(run["waf"] for run in json.loads(done.stdout)["runs"]) if done.returncode == 0 else None


def main(program, folder, verbose):
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        for kind, name, trace, load in volumes(program, Path(folder), Path(work)):
            data = pages(trace, load)
            for (zone, zone_pages), trigger in itertools.product(ZONES.items(), SHARES):
                share = float(trigger[1]) if trigger[0] == "--op" else None
                fits = data * share >= 5 * zone_pages if share else data >= 8 * zone_pages
                ours = fits and waf(program, "survival", zone, trigger, trace, load)
                best = ours and waf(program, RIVALS, zone, trigger, trace, load)
                if best:
                    found[kind, trigger[0]].append(ours / best)
                    if verbose and ours > 1.01 * best:
                        print(f"{name}, zones of {zone}, {' '.join(trigger)}: {ours:.3f}, best {best:.3f}", flush=True)
    print("| | settings | more than 1 % behind | farthest behind | mean, best published = 1 |\n|---|--:|--:|--:|--:|")
    for (kind, trigger), all_of in sorted(found.items()):
        behind = sum(ratio > 1.01 for ratio in all_of)
        farthest = max(0, max(all_of) - 1)
        print(f"| {kind}, `{trigger}` | {len(all_of)} | {behind} | {farthest:.1%} | {geometric_mean(all_of):.3f} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "-v" in sys.argv[3:])
