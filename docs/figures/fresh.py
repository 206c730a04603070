#!/usr/bin/env python3
"""Records write traces of programs that run now, and compares `survival` with all published schemes on them.

    apt install mariadb-server postgresql sysbench etcd-server redis-server influxdb xfsprogs btrfs-progs
    cargo build --release
    python3 docs/figures/fresh.py record FOLDER [NAME...]
    python3 docs/figures/fresh.py compare FOLDER target/release/frostline

Recording needs root, and FOLDER on a file system with 6 GiB free. Each program runs on a file system of its own on a loop
device. The kernel tells each write that the device completed. FOLDER gets NAME.u32, the numbers of the blocks of 4 KiB that
were written, and NAME.load.u32, those of the load before it. The programs' speed and chance decide what they write, so two
recordings differ. SECONDS in the environment is how long each runs.
"""

import array
import base64
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from statistics import geometric_mean

from behind import SHARES, ZONES, waf

SECONDS = float(os.environ.get("SECONDS", 150))
TRACING = Path("/sys/kernel/tracing")
INSTANCE = TRACING / "instances/frostline"
RUN = "the run begins"
COMPLETED = re.compile(r"block_rq_complete: \S+ (\S+) \(.*?\) (\d+) \+ (\d+)")


def shell(command, **more):
    return subprocess.run(command, shell=True, check=True, **more)


def until_answered(ask):
    for _ in range(100):
        try:
            return ask()
        except Exception:
            time.sleep(0.2)
    return ask()


class Server:
    """A program that runs from the load to the end."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, shell=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()


def post(port, path, body=b""):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def innodb(mount):
    """MariaDB with 32 MiB of memory; sysbench changes a million rows, a few of them mostly."""
    socket, data = f"{mount}/socket", f"{mount}/data"
    shell(f"mariadb-install-db --no-defaults --user=root --datadir={data} --auth-root-authentication-method=normal")
    settings = "--innodb-buffer-pool-size=32M --innodb-flush-method=O_DIRECT --innodb-io-capacity=2000 --innodb-log-file-size=32M"
    server = Server(f"exec mariadbd --no-defaults --user=root --datadir={data} --socket={socket} --skip-networking {settings}")
    until_answered(lambda: shell(f"mariadb --no-defaults -uroot -S {socket} -e 'create database if not exists sbtest'"))
    bench = f"sysbench oltp_write_only --mysql-socket={socket} --mysql-user=root --tables=4 --table-size=250000 --rand-type=pareto"
    shell(f"{bench} --threads=2 prepare")
    yield
    shell(f"{bench} --threads=4 --time={SECONDS:.0f} run")
    server.stop()


def postgresql(mount):
    """PostgreSQL with 32 MiB of memory; pgbench, 2.5 million rows, each as often as any other."""
    programs = max(Path("/usr/lib/postgresql").iterdir()) / "bin"
    shell(f"chown postgres {mount}")

    def run(command):
        shell(f"su postgres -c '{programs}/{command}'", cwd=mount)

    run(f"initdb -D {mount}/data")
    settings = f"-c shared_buffers=32MB -c max_wal_size=128MB -c checkpoint_timeout=60 -c listen_addresses= -k {mount}"
    run(f"pg_ctl -D {mount}/data -l {mount}/messages -o \"{settings}\" -w start")
    run(f"createdb -h {mount} bench")
    run(f"pgbench -h {mount} -i -s 25 -q bench")
    yield
    run(f"pgbench -h {mount} -c 4 -N -T {SECONDS:.0f} bench")
    run(f"pg_ctl -D {mount}/data -m fast stop")


def sqlite(mode):
    def program(mount):
        """Users whose balances change, a few of them mostly, and events that are inserted, and deleted in the end."""
        chance, database = random.Random(3), sqlite3.connect(f"{mount}/database", isolation_level=None)
        database.executescript(
            f"pragma journal_mode={mode}; pragma cache_size=-8000;"
            "create table users(id integer primary key, name text, balance int, note blob); create index names on users(name);"
            "create table events(id integer primary key, user int, at real, content blob); create index at on events(user, at);"
        )
        rows = ((i, f"{chance.getrandbits(32):08x}", 0, chance.randbytes(chance.randrange(20, 300))) for i in range(300_000))
        database.execute("begin")
        database.executemany("insert into users values(?,?,?,?)", rows)
        database.execute("commit")
        yield
        first = last = 1
        end = time.time() + SECONDS
        while time.time() < end:
            database.execute("begin immediate")
            for _ in range(chance.randrange(1, 12)):
                kind, user = chance.random(), int(chance.paretovariate(0.3)) * 7919 % 300_000
                if kind < 0.4:
                    database.execute("update users set balance = balance + 1 where id = ?", (user,))
                elif kind < 0.5:
                    database.execute("update users set name = ? where id = ?", (f"{chance.getrandbits(32):08x}", user))
                elif kind < 0.9:
                    event = (last, user, time.time(), chance.randbytes(chance.randrange(10, 400)))
                    database.execute("insert into events values(?,?,?,?)", event)
                    last += 1
                elif last - first > 60_000:
                    database.execute("delete from events where id between ? and ?", (first, first + 20))
                    first += 21
            database.execute("commit")
        database.close()

    return program


def etcd(mount):
    """etcd: 100,000 keys, most puts to a few of them; old revisions are given up."""
    server = Server(f"exec etcd --data-dir {mount}/data --quota-backend-bytes 1000000000")
    yield
    end = time.time() + SECONDS

    def put(seed):
        chance, client = random.Random(seed), http.client.HTTPConnection("127.0.0.1", 2379)
        for n in itertools.count():
            if time.time() >= end:
                return
            key = int(chance.paretovariate(0.4)) * 7919 % 100_000 if chance.random() < 0.7 else chance.randrange(100_000)
            encoded = [base64.b64encode(part).decode() for part in (b"/key/%d" % key, chance.randbytes(chance.randrange(100, 1500)))]
            client.request("POST", "/v3/kv/put", json.dumps({"key": encoded[0], "value": encoded[1]}))
            revision = int(json.loads(client.getresponse().read())["header"]["revision"])
            if seed == 0 and n % 3000 == 2999:
                client.request("POST", "/v3/kv/compaction", json.dumps({"revision": str(max(1, revision - 2000))}))
                client.getresponse().read()

    until_answered(lambda: post(2379, "/v3/kv/range", b'{"key": "AA=="}'))
    threads = [threading.Thread(target=put, args=(seed,)) for seed in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    server.stop()


def influxdb(mount):
    """InfluxDB: 2,000 series, a tenth of the points late."""
    places = f"INFLUXDB_META_DIR={mount}/meta INFLUXDB_DATA_DIR={mount}/data INFLUXDB_DATA_WAL_DIR={mount}/wal"
    server = Server(f"{places} INFLUXDB_DATA_CACHE_SNAPSHOT_MEMORY_SIZE=4m INFLUXDB_REPORTING_DISABLED=true exec influxd run")
    until_answered(lambda: post(8086, "/query?q=CREATE+DATABASE+points"))
    yield
    chance, end, second = random.Random(5), time.time() + SECONDS, 1_600_000_000
    while time.time() < end:
        second += 1
        late = (chance.randrange(3600) if chance.random() < 0.1 else 0 for _ in range(2000))
        points = (f"cpu,host=h{host} usage={chance.random():.6f} {(second - s) * 10**9 + host}" for host, s in enumerate(late))
        post(8086, "/write?db=points", "\n".join(points).encode())
    server.stop()


def redis(mount):
    """Redis: 200,000 keys, a log of changes that is written anew as it grows."""
    server = Server(f"exec redis-server --dir {mount} --appendonly yes --appendfsync everysec --save ''")
    until_answered(lambda: shell("redis-cli ping"))
    shell("redis-benchmark -q -t set -r 200000 -n 400000 -d 500")
    yield
    end = time.time() + SECONDS
    while time.time() < end:
        shell("redis-benchmark -q -t set -r 200000 -n 200000 -d 500 -P 4")
    server.stop()


def mail(mount):
    """20,000 files of all lengths: made, appended to, synced and deleted."""
    chance = random.Random(7)
    [os.makedirs(f"{mount}/mail/{i}") for i in range(200)]

    def name(file):
        return f"{mount}/mail/{file % 200}/{file}"

    def write(file, mode, length):
        with open(name(file), mode) as output:
            output.write(chance.randbytes(min(int(length), 2_000_000)))
            output.flush()
            os.fsync(output.fileno())

    [Path(name(file)).write_bytes(chance.randbytes(min(int(chance.paretovariate(1.1) * 3000), 2_000_000))) for file in range(20_000)]
    yield
    files, last, end = list(range(20_000)), 20_000, time.time() + SECONDS
    while time.time() < end:
        kind = chance.random()
        if kind < 0.35:
            at = chance.randrange(len(files))
            files[at], files[-1] = files[-1], files[at]
            os.unlink(name(files.pop()))
        elif kind < 0.75 and len(files) < 26_000:
            write(last, "wb", chance.paretovariate(1.1) * 3000)
            files.append(last)
            last += 1
        else:
            write(files[-1 - int(chance.paretovariate(0.5)) % len(files)], "ab", chance.paretovariate(1.2) * 800)


PROGRAMS = {
    "innodb": ("ext4", innodb),
    "postgresql": ("btrfs", postgresql),
    "sqlite_delete": ("xfs", sqlite("delete")),
    "sqlite_wal": ("btrfs", sqlite("wal")),
    "etcd": ("ext4", etcd),
    "influxdb": ("ext4", influxdb),
    "redis": ("ext4", redis),
    "mail": ("ext4", mail),
}
MAKE = {
    "ext4": "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0",
    "xfs": "mkfs.xfs -q",
    "btrfs": "mkfs.btrfs -q -m single",
}


def record(folder, name):
    system, program = PROGRAMS[name]
    with contextlib.ExitStack() as at_end:
        image, mount, events = folder / "device", folder / "mount", folder / "events"
        shell(f"rm -f {image}; truncate -s 3G {image}")
        at_end.callback(image.unlink)
        device = shell(f"losetup -f --show -b 4096 {image}", capture_output=True, text=True).stdout.strip()
        at_end.callback(shell, f"losetup -d {device}")
        mount.mkdir(exist_ok=True)
        at_end.callback(mount.rmdir)
        shell(f"{MAKE[system]} {device}")
        lost = at_end.enter_context(observed(os.stat(device).st_rdev, events))
        shell(f"mount -o noatime {device} {mount}")
        at_end.callback(shell, f"umount {mount}")
        for _ in program(mount):
            shell("sync")
            (INSTANCE / "trace_marker").write_text(RUN)
    assert not lost, f"{lost[0]} events were lost"
    load, run = written(events)
    events.unlink()
    ranks = {block: rank for rank, block in enumerate(sorted(set(load) | set(run)))}
    for blocks, file in ((load, f"{name}.load.u32"), (run, f"{name}.u32")):
        (folder / file).write_bytes(array.array("I", map(ranks.get, blocks)).tobytes())
    print(f"{name}: {len(load)} and {len(run)} blocks were written, {len(ranks)} different ones", flush=True)


@contextlib.contextmanager
def observed(device, events):
    """The events of completed requests of a device go to a file. Yields a list that gets their number if some were lost."""
    if not (TRACING / "instances").exists():
        shell(f"mount -t tracefs tracefs {TRACING}")
    INSTANCE.mkdir(exist_ok=True)
    (INSTANCE / "buffer_size_kb").write_text("65536")
    event = INSTANCE / "events/block/block_rq_complete"
    (event / "filter").write_text(f"dev == {os.major(device) << 20 | os.minor(device)}")
    (event / "enable").write_text("1")
    lost = []
    with open(events, "wb") as output:
        reader = subprocess.Popen(["cat", INSTANCE / "trace_pipe"], stdout=output)
        try:
            yield lost
        finally:
            (event / "enable").write_text("0")
            time.sleep(2)
            reader.terminate()
            reader.wait()
            overrun = (re.search(r"\noverrun: (\d+)", cpu.read_text())[1] for cpu in INSTANCE.glob("per_cpu/cpu*/stats"))
            lost += filter(None, [sum(map(int, overrun))])
            INSTANCE.rmdir()


def written(events):
    """The blocks of 4 KiB that were written in the load, and in the run."""
    load, run = array.array("Q"), array.array("Q")
    into = load
    for line in open(events, errors="replace"):
        if RUN in line:
            into = run
        elif (found := COMPLETED.search(line)) and "W" in found[1]:
            sector, sectors = int(found[2]), int(found[3])
            into.extend(range(sector // 8, (sector + sectors + 7) // 8))
    return load, run


RIVALS = "nosep,sepgc,sepbit,uw,gw,dac,2r-fifo,midas,mida"
COMPARED = ("1MiB", "4MiB", "16MiB")


def compare(folder, program):
    """One line a trace: it alone and after its load, in zones of three sizes, at three garbage proportions if the data fill
    eight zones, and at three over-provisionings if five zones are spare."""
    print("| trace | writes a block | settings | mean, best published = 1 | mean, `sepbit` = 1 | more than 1 % behind | farthest behind |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for trace in sorted(folder.glob("*.u32")):
        if trace.name.endswith(".load.u32"):
            continue
        load = trace.with_suffix(".load.u32")
        blocks = [array.array("I", file.read_bytes()) for file in (trace, load)]
        best, sepbit = [], []
        for preload, zone, share in itertools.product((None, load), COMPARED, SHARES):
            pages = ZONES[zone]
            data = len(set(blocks[0]) | set(blocks[1] if preload else ()))
            if data * float(share[1]) < 5 * pages if share[0] == "--op" else data < 8 * pages:
                continue
            ours = waf(program, "survival", zone, share, trace, preload)
            best.append(ours / waf(program, RIVALS, zone, share, trace, preload, "greedy,cost-benefit"))
            sepbit.append(ours / waf(program, "sepbit", zone, share, trace, preload, "greedy,cost-benefit"))
        behind, farthest = sum(ratio > 1.01 for ratio in best), max(0, max(best) - 1)
        rewritten = len(blocks[0]) / len(set(blocks[0]))
        print(
            f"| {trace.stem} | {rewritten:.1f} | {len(best)} | {geometric_mean(best):.3f} | {geometric_mean(sepbit):.3f} | {behind} | {farthest:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    task, folder, *rest = sys.argv[1:]
    match task:
        case "record":
            Path(folder).mkdir(exist_ok=True)
            [record(Path(folder).resolve(), name) for name in rest or PROGRAMS]
        case "compare":
            compare(Path(folder), rest[0])
