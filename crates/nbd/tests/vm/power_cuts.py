#!/usr/bin/env python3
"""A virtual machine whose disk is `frostline serve nbd`, killed again and again while it writes.

In the machine a file system (ext4 or XFS) is changed: by files that are synced one by one, or by PostgreSQL, where pgbench runs and
one session counts up, a row a transaction. After each kill the machine boots on what was left. The file system must mount and its check find nothing,
PostgreSQL must recover and amcheck find nothing, and all that was acknowledged must be there.

There are three kinds of end, drawn from the seed:
  guest    the virtual machine is killed; the server goes on
  both     the server is killed as well, by SIGKILL
  power    the same, and the device is set back to what the server had synced (a library in front of libc remembers that)

Needs QEMU (9 or newer for kernels from 6.12 on), busybox-static, a C compiler, e2fsprogs or xfsprogs, PostgreSQL, and a kernel with its modules.
On Debian:
  apt-get install qemu-system-x86 busybox-static xfsprogs postgresql
  apt-get download linux-image-6.1.0-56-cloud-amd64 && dpkg-deb -x linux-image-*.deb kernel
  crates/nbd/tests/vm/power_cuts.py --kernel kernel/boot/vmlinuz-* --modules kernel/lib/modules/*
No root and no KVM are needed; with --kvm it is faster.
"""

import argparse
import collections
import os
import pathlib
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path.insert(0, str(ROOT / "crates/zone/tests/vm"))
from initial_files import archive, copy_modules, copy_program, find_program


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", required=True, help="the kernel, a bzImage")
    parser.add_argument("--modules", required=True, help="its modules: /lib/modules/VERSION")
    parser.add_argument("--fs", choices=["ext4", "xfs"], default="ext4")
    parser.add_argument("--work", choices=["files", "postgres"], default="files")
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", default="1GiB", help="of the device")
    parser.add_argument("--scheme", default="frostline")
    parser.add_argument("--frostline", default=str(ROOT / "target/release/frostline"))
    parser.add_argument("--busybox", default=shutil.which("busybox") or "busybox", help="a static one")
    parser.add_argument("--postgres", default=None, help="directory with bin/postgres [default: Debian's newest]")
    parser.add_argument("--kvm", action="store_true")
    parser.add_argument("--boot-seconds", type=int, default=900, help="a boot with its checks may take so long")
    return parser.parse_args()


# The initial file system of the machine.

def postgres_home(given):
    homes = sorted(pathlib.Path("/usr/lib/postgresql").glob("*"), key=lambda home: int(home.name))
    home = pathlib.Path(given) if given else homes[-1] if homes else sys.exit("power_cuts: no PostgreSQL on this machine")
    ask = lambda what: pathlib.Path(subprocess.check_output([home / "bin/pg_config", what], text=True).strip())
    return home, ask("--pkglibdir"), ask("--sharedir")


def initial_files(options, to):
    for directory in ["bin", "lib", "proc", "sys", "dev", "etc", "root"]:
        (to / directory).mkdir(parents=True)
    (to / "settings").touch()
    shutil.copy(options.busybox, to / "bin/busybox")
    shutil.copy(HERE / "guest.sh", to / "init")
    shutil.copy(ROOT / "crates/zone/tests/vm/files.sh", to / "files.sh")
    (to / "init").chmod(0o755)
    for name in {"ext4": ["mkfs.ext4", "e2fsck"], "xfs": ["mkfs.xfs", "xfs_repair"]}[options.fs]:
        copy_program(find_program(name), to / "bin" / name, to)
    (to / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\npostgres:x:1000:1000::/tmp:/bin/sh\n")
    (to / "etc/group").write_text("root:x:0:\npostgres:x:1000:\n")
    if options.work == "postgres":
        # The programs look for their libraries and files where they were when PostgreSQL was built.
        home, libraries, shared = postgres_home(options.postgres)
        for name in ["postgres", "initdb", "pg_ctl", "psql", "pgbench", "pg_amcheck"]:
            copy_program(home / "bin" / name, to / str(home).lstrip("/") / "bin" / name, to)
        for name in ["plpgsql.so", "dict_snowball.so", "amcheck.so"]:
            copy_program(libraries / name, to / str(libraries).lstrip("/") / name, to)
        shutil.copytree(shared, to / str(shared).lstrip("/"), ignore=shutil.ignore_patterns("man", "contrib"))
        (to / "pg").mkdir()
        (to / "pg/bin").symlink_to(home / "bin")
    wanted = ["virtio_pci", "virtio_blk", "crc32c_generic", "crc32c_intel", options.fs]
    return copy_modules(wanted, options.modules, to / "modules")


# The two processes.

class Server:
    """`frostline serve nbd`, whose syncs are remembered."""

    def __init__(self, options, home):
        self.options, self.home = options, home
        self.device, self.shadow, self.socket = home / "device", home / "shadow", home / "disk.sock"
        self.shadow.mkdir()
        self.shim = home / "shim.so"
        source = ROOT / "crates/testkit/src/power/shim.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-pthread", source, "-o", self.shim], check=True)
        self.process = None

    def start(self):
        self.socket.unlink(missing_ok=True)
        environment = dict(os.environ, LD_PRELOAD=str(self.shim), FROSTLINE_SHADOW=str(self.shadow))
        made = ["--create", "--size", self.options.size, "--zone", "1MiB", "--scheme", self.options.scheme]
        command = [self.options.frostline, "serve", "nbd", f"file:{self.device}", "--listen", str(self.socket), *made]
        self.log = open(self.home / "server.log", "ab")
        self.process = subprocess.Popen(command, env=environment, stdout=self.log, stderr=self.log)
        while not self.socket.exists():
            if self.process.poll() is not None:
                sys.exit("power_cuts: the server ended:\n" + (self.home / "server.log").read_text())
            time.sleep(0.05)

    def stop(self, how):
        self.process.send_signal(how)
        self.process.wait()

    def cut_power(self):
        """Sets each file back to what was synced of it."""
        for path in self.device.rglob("*"):
            if path.is_file():
                kept = self.shadow / str(path.stat().st_ino)
                data = kept.read_bytes() if kept.exists() else b""
                if data != path.read_bytes():
                    # In place: the number of the inode is the name of the copy.
                    path.write_bytes(data)


class Machine:
    """The virtual machine."""

    def __init__(self, options, home, initrd, socket):
        nbd = f"driver=nbd,node-name=disk,server.type=unix,server.path={socket},discard=unmap"
        accel = ["-accel", "kvm", "-cpu", "host"] if options.kvm else ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off"]
        append = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
        command = ["qemu-system-x86_64", *accel, "-M", "q35", "-m", "1024", "-smp", "2", "-nodefaults", "-no-user-config", "-no-reboot",
                   "-display", "none", "-kernel", options.kernel, "-initrd", str(initrd), "-append", append,
                   "-serial", f"file:{home}/console", "-serial", "stdio", "-blockdev", nbd, "-device", "virtio-blk-pci,drive=disk"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(home / "qemu.log", "wb"))
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            # A line that was cut off by the kill is no promise.
            if line.endswith(b"\n"):
                self.lines.put(line.decode(errors="replace").strip())
        self.lines.put(None)

    def next(self, until):
        """The next line; None at the end or when time is up."""
        try:
            return self.lines.get(timeout=max(0.01, until - time.monotonic()))
        except queue.Empty:
            return ""

    def kill(self):
        """Kills it; returns the lines that it had sent."""
        self.process.kill()
        self.process.wait()
        rest = []
        while (line := self.lines.get()) is not None:
            rest.append(line)
        return rest


# The loop.

def main():
    options = arguments()
    rng = random.Random(options.seed)
    home = pathlib.Path(tempfile.mkdtemp(prefix="frostline-vm-"))
    files = home / "root"
    modules = initial_files(options, files)
    durable, pgbench, lost, ends = {}, 0, 0, collections.Counter()

    def hear(line):
        words = line.split()
        if len(words) == 3 and words[0] == "durable":
            durable[int(words[1])] = int(words[2])

    server = Server(options, home)
    server.start()
    machine = None

    def fail(line):
        time.sleep(3)
        rest = machine.kill()
        server.stop(signal.SIGKILL)
        sys.exit("\n".join([f"power_cuts: {line or 'the machine ended or hangs'}; all is kept in {home}", *rest]))

    for life in range(options.cuts + 1):
        highest = max(durable.values(), default=0)
        settings = {"MODULES": '"' + " ".join(modules) + '"', "FS": options.fs, "WORK": options.work, "MAKE": int(life == 0), "FROM": highest}
        (files / "settings").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        archive(files, options.busybox, home / "initrd")
        machine = Machine(options, home, home / "initrd", server.socket)
        found = {}
        until = time.monotonic() + options.boot_seconds
        while (line := machine.next(until)) != "changing":
            if not line or line.startswith("failed"):
                fail(line)
            words = line.split()
            if words[0] == "found":
                found[int(words[1])] = int(words[2])
            if words[0] == "pgbench":
                pgbench = int(words[1])
        missing = {slot: number for slot, number in durable.items() if found.get(slot, 0) < number}
        lost += len(missing)
        print(f"life {life}: up to {max(found.values(), default=0)} found, of {highest} acknowledged; lost: {missing or 0}", flush=True)
        durable.update(found)
        if life == options.cuts:
            break
        # Killed after some acknowledgements, at any moment of those that follow.
        promises = rng.randint(5, 80)
        until = time.monotonic() + options.boot_seconds
        while promises > 0:
            line = machine.next(until)
            if not line or line.startswith("failed"):
                fail(line)
            hear(line)
            promises -= line.startswith("durable")
        time.sleep(rng.random())
        end = rng.choice(["guest", "both", "power"])
        ends[end] += 1
        if end != "guest":
            # The server first: nobody answers the machine afterwards.
            server.stop(signal.SIGKILL)
        for line in machine.kill():
            hear(line)
        if end == "power":
            server.cut_power()
        if end != "guest":
            server.start()
    machine.kill()
    server.stop(signal.SIGINT)
    checked = subprocess.run([options.frostline, "store", "check", f"file:{server.device}"], capture_output=True, text=True)
    kinds = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    transactions = f"; {pgbench} transactions of pgbench" if options.work == "postgres" else ""
    what = "rows" if options.work == "postgres" else "files"
    print(f"{options.work} on {options.fs}: {options.cuts} kills ({kinds}); {max(durable.values(), default=0)} {what}{transactions}; lost: {lost}")
    print(f"store check: exit status {checked.returncode}")
    if lost or checked.returncode:
        sys.exit(1)
    shutil.rmtree(home)


main()
