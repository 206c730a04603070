#!/usr/bin/env python3
"""Costs of a database as it grows, with memory that stays. Needs nothing but Python on Linux.

    cargo build --release
    python3 docs/figures/growth.py target/release/frostline FOLDER 100000 1000000
    python3 docs/figures/growth.py target/release/frostline FOLDER --sizes 1GiB 32GiB 1TiB

The numbers are records, loaded in order of keys; with `--sizes` 100,000 records on sparse files of these sizes. Then each
record is changed as often as any other: 300,000 changes, 64 commits in flight. The threads' CPU time is what the system
says of them just before the process ends. Then the database is killed in such a load, and opened; the process that opens
it is killed once the log is replayed. FOLDER needs room for the data three times.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

CHANGES = 300_000
BUFFER = "16MiB"
# As the system has them, 15 letters at most.
THREADS = {"log": "frostline-wal", "evictor": "frostline-evict", "cleaner": "frostline-clean", "checkpoints": "frostline-check"}
TICK = os.sysconf("SC_CLK_TCK")


def threads_of(pid):
    """CPU seconds of each thread, by its name."""
    spent = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            name, fields = (task / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            user, system = fields.split()[11:13]
            spent[task.name] = (name, (int(user) + int(system)) / TICK)
    except (FileNotFoundError, ProcessLookupError):
        pass
    return spent


def watch(command):
    """The run's results, CPU seconds of its threads by name, and MiB of memory."""
    process = subprocess.Popen([*command, "-q", "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    spent = {}
    os.set_blocking(process.stdout.fileno(), False)
    output = b""
    while not output.endswith(b"\n}\n"):
        spent.update(threads_of(process.pid))
        time.sleep(0.02)
        read = process.stdout.read()
        if read == b"":
            break
        output += read or b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    by_name = {part: sum(cpu for other, cpu in spent.values() if other == name) for part, name in THREADS.items()}
    return json.loads(output)["runs"][0], by_name, usage.ru_maxrss / 1024


def kill_in_midst(command, written):
    """Kills a load once it has written so many bytes."""
    process = subprocess.Popen([*command, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while "write_bytes" in (io := Path(f"/proc/{process.pid}/io").read_text()):
        if int(io.split("wchar: ")[1].split()[0]) > written:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()


def opened(command):
    """CPU milliseconds, MiB read and MiB of memory until the log is replayed; commits in the log."""
    process = subprocess.Popen([*command, "-q", "-v"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    commits = 0
    for line in process.stderr:
        if "commits of the log are replayed" in line:
            commits = int(line.split("commits=")[1].split()[0])
            break
    read = int(Path(f"/proc/{process.pid}/io").read_text().split("rchar: ")[1].split()[0])
    process.kill()
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = -9
    return (usage.ru_utime + usage.ru_stime) * 1000, read / 2**20, usage.ru_maxrss / 1024, commits


def costs(program, folder, records, size):
    """The rows of one column of the table."""
    path = folder / "growth"
    path.unlink(missing_ok=True)
    bench = [program, "bench", "ycsb", "--workload", "100w", "--distribution", "uniform", "--device", f"file:{path}"]
    bench += ["--records", str(records), "--buffer", BUFFER, "--no-check"]
    made = ["--size", size] if size else []
    subprocess.run([*bench, *made, "--load-order", "keys", "--transactions", "1", "-q"], check=True, stdout=subprocess.DEVNULL)
    run, threads, memory = watch([*bench, "--keep", "--transactions", str(CHANGES)])
    kill_in_midst([*bench, "--keep", "--seconds", "3000"], 40_000_000 + 40 * records)
    cpu, read, opening_memory, commits = opened([*bench, "--keep", "--transactions", "1"])
    path.unlink()
    each = lambda seconds: f"{1e6 * seconds / CHANGES:.1f}"
    causes = {cause: f"{count / CHANGES:.0f}" for cause, count in run["bytes_by_cause"].items()}
    zones = max(run["zones_reclaimed"], 1)
    zone = run["zone_pages"] * 4096 / 2**20
    return {
        "CPU µs of a change: the thread that commits": each(run["worker_cpu_seconds"]),
        **{f"the thread of the {name}": each(cpu) for name, cpu in threads.items()},
        "CPU µs to clean a MiB": f"{1e6 * threads['cleaner'] / zones / zone:.0f}" if run["zones_reclaimed"] else "-",
        "pages read a change": f"{run['pages_read'] / CHANGES:.2f}",
        "device bytes of a change: log": causes["log"],
        "images and deltas": causes["user"],
        "copied by cleaning": causes["relocations"],
        "headers and padding": f"{(run['bytes_by_cause']['headers'] + run['bytes_by_cause']['padding']) / CHANGES:.0f}",
        "checkpoints of the store": causes["checkpoints"],
        "MiB of memory": f"{memory:.0f}",
        "opened after a kill: CPU ms": f"{cpu:.0f}",
        "MiB read": f"{read:.1f}",
        "MiB of memory then": f"{opening_memory:.0f}",
        "commits in the log": str(commits),
    }


def main(program, folder, *wanted):
    sizes = wanted[1:] if wanted[0] == "--sizes" else None
    columns = [(100_000, size) for size in sizes] if sizes else [(int(records), None) for records in wanted]
    rows = [costs(program, Path(folder), records, size) for records, size in columns]
    names = sizes or [f"{int(records):,}" for records in wanted]
    print("| | " + " | ".join(names) + " |\n|---|" + "--:|" * len(names))
    for key in rows[0]:
        print(f"| {key} | " + " | ".join(row[key] for row in rows) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
