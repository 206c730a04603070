#!/usr/bin/env python3
"""Power cuts of a machine with a ZNS drive: a store or a database, on zonefs or on the raw drive, that is in use when a virtual machine is killed.

The load in the machine is the program of the tests `power_cuts` of frostline-store and frostline-db: it says what it is about to write and
what was acknowledged as durable. With `--what disk` it is a file system, ext4, on the disk that `frostline serve ublk` makes of a store: e2fsck must
find nothing, and files that were synced must be there. The machine is killed at any moment, also while a store is recovered or formatted. At the next boot `frostline
store check` or `db check` must find nothing on what is left, before anything opens it for writing; then it is opened, all that was acknowledged must be
there, and the load goes on. Three kinds of end, drawn from the seed, say what the drive keeps of completed commands that no flush covered:
  all      every write and finish of a zone
  some     of each zone, writes up to any block
  none     nothing: a volatile cache is lost
What is not imitated: writes under way, which leave nothing; resets that were not flushed, which all count; and the time that flash takes.

Needs cargo, QEMU 9 or newer, busybox-static, blkzone, and a kernel from 6.12 on with its modules, with NVMe and virtio built in as Debian's cloud kernels
have them. On Debian 13, or on 12 with backports:
  apt-get install qemu-system-x86 busybox-static util-linux
  apt-get download linux-image-6.12.95+deb12-cloud-amd64 && dpkg-deb -x linux-image-*.deb kernel
  crates/zone/tests/vm/zns_power_cuts.py --kernel kernel/boot/vmlinuz-* --modules kernel/lib/modules/*
No root and no KVM are needed; with --kvm it is faster. The seed does not decide the moment of a kill to the instruction.
"""

import argparse
import collections
import json
import os
import pathlib
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import zns_drive
from initial_files import archive, copy_modules, copy_program, find_program
from promises import Commits, Files, Pages

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
URIS = {"raw": "zbd:/dev/nvme0n1", "zonefs": "zonefs:/zns"}
# A machine without KVM starts in 3 seconds; Linux may need more on a busy host.
BEGIN_SECONDS = 90
WORLDS = {"store": Pages, "db": Commits, "disk": Files}
# A small drive is soon full of garbage; ext4 needs a larger one.
ZONE_BYTES = {"store": 256 << 10, "db": 256 << 10, "disk": 1 << 20}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", required=True, help="the kernel, a bzImage")
    parser.add_argument("--modules", required=True, help="its modules: /lib/modules/VERSION")
    parser.add_argument("--what", choices=WORLDS, nargs="+", default=["store", "db"])
    parser.add_argument("--on", choices=URIS, nargs="+", default=list(URIS))
    parser.add_argument("--cuts", type=int, default=25, help="of each pair [default: 25, which is 100 in all]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--busybox", default=shutil.which("busybox") or "busybox", help="a static one")
    parser.add_argument("--kvm", action="store_true")
    parser.add_argument("--boot-seconds", type=int, default=600, help="a boot with its checks may take so long")
    return parser.parse_args()


def built(*command):
    """The program that a command of cargo builds."""
    run = subprocess.run(["cargo", *command, "--release", "--message-format=json"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    messages = map(json.loads, run.stdout.splitlines())
    return [message["executable"] for message in messages if message.get("executable")][-1]


def super_block():
    """The first block of the first zone, as mkzonefs writes it."""
    block = bytearray(4096)
    block[0:4] = b"SFOZ"
    block[72:88] = b"frostline-on-zns"
    block[4:8] = (zlib.crc32(block) ^ 0xFFFF_FFFF).to_bytes(4, "little")
    return block


class Machine:
    """The virtual machine, from its boot to its end."""

    def __init__(self, options, home, zone_bytes):
        read_end, trace = os.pipe()
        accel = ["-accel", "kvm", "-cpu", "host"] if options.kvm else ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off"]
        append = ("console=ttyS0 quiet panic=-1 oops=panic nokaslr mitigations=off no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
                  " nvme_core.io_timeout=60 nvme_core.admin_timeout=60")
        command = ["qemu-system-x86_64", *accel, "-M", "q35", "-m", "1024", "-smp", "2", "-nodefaults", "-no-user-config", "-no-reboot",
                   "-display", "none", "-kernel", options.kernel, "-initrd", str(home / "initrd"), "-append", append, "-serial", f"file:{home}/console",
                   "-device", "virtio-serial-pci", "-chardev", "file,id=out,path=/dev/fd/1", "-device", "virtserialport,chardev=out,name=out",
                   *zns_drive.qemu_options(home / "drive", trace, zone_bytes)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(home / "qemu.log", "wb"),
                                        pass_fds=[trace])
        os.close(trace)
        self.is_killed = False
        self.zones, self.lines = zns_drive.Zones(zone_bytes), queue.Queue()
        self.readers = [threading.Thread(target=read, args=[*given], daemon=True)
                        for read, *given in [(self.read_lines,), (self.read_trace, read_end)]]
        for reader in self.readers:
            reader.start()

    def read_lines(self):
        for line in self.process.stdout:
            # A line that was cut off by the kill is no promise.
            if line.startswith(b"> ") and line.endswith(b"\n"):
                self.lines.put(line[2:].decode(errors="replace").strip())
        self.lines.put(None)

    def read_trace(self, end):
        with open(end, errors="replace") as lines:
            for line in lines:
                if line.endswith("\n"):
                    self.zones.hear(line)

    def next(self, until):
        """The next line; nothing at the end or when time is up."""
        try:
            return self.lines.get(timeout=max(0.01, until - time.monotonic()))
        except queue.Empty:
            return None

    def kill(self):
        """Kills it; returns the lines that it had sent."""
        self.process.kill()
        self.process.wait()
        self.is_killed = True
        for reader in self.readers:
            reader.join()
        return list(iter(self.lines.get, None))


class Moment:
    """When the machine is killed: in one of five while the load opens the store or makes it, else while it is in use."""

    def __init__(self, rng, world):
        self.is_opening = rng.random() < 0.2
        self.seconds = rng.random() * (world.MOST_SECONDS if self.is_opening else 0.02)
        # Lines that the load says once it is open: often few.
        self.lines = rng.randint(1, world.MOST_LINES // rng.choice([1, 10]))

    def has_come(self, line, is_opened):
        self.lines -= is_opened
        return line == "opening" if self.is_opening else self.lines <= 0


class Life:
    """One drive through all of its power cuts."""

    def __init__(self, options, what, on, files, home):
        self.options, self.what, self.on, self.files, self.home = options, what, on, files, home
        self.zone_bytes = ZONE_BYTES[what]
        self.rng = random.Random(f"{options.seed} {what} {on}")
        self.world, self.ends = WORLDS[what](), collections.Counter()
        (home / "drive").unlink(missing_ok=True)
        with open(home / "drive", "wb") as drive:
            drive.write(super_block() if on == "zonefs" else b"")
            drive.truncate(zns_drive.ZONES * self.zone_bytes)
        self.zones = [(0, zns_drive.BLOCK, 1)] if on == "zonefs" else []

    def boot(self, modules):
        settings = {"MODULES": " ".join(modules), "WHAT": self.what, "URI": URIS[self.on], "IS_MADE": int(self.world.is_made), "TASK": self.world.task(self.rng),
                    "ZONE_BYTES": self.zone_bytes, "CAPACITY": zns_drive.capacity(self.zone_bytes)}
        (self.files / "settings").write_text("".join(f"{name}='{value}'\n" for name, value in settings.items()))
        (self.files / "zones").write_text("".join("{} {} {}\n".format(*zone) for zone in self.zones))
        archive(self.files, self.options.busybox, self.home / "initrd")
        self.world.boot()
        for _ in range(3):
            machine = Machine(self.options, self.home, self.zone_bytes)
            if machine.next(time.monotonic() + BEGIN_SECONDS) == "booted":
                return machine
            # An emulated machine hangs now and then while Linux starts. It has written nothing yet.
            machine.kill()
            print(f"{self.what} on {self.on}: the machine did not start, another one does", flush=True)
        sys.exit(f"the machine does not start; all is kept in {self.home}")

    def hear(self, machine, has_come):
        """Listens until a moment has come."""
        until = time.monotonic() + self.options.boot_seconds
        while True:
            line = machine.next(until)
            if line is None:
                self.fail(machine, "the machine ended or hangs")
            self.note(machine, line)
            if has_come(line):
                return

    def note(self, machine, line):
        if line.startswith("failed"):
            self.fail(machine, line)
        if lost := self.world.hear(line.split()):
            self.fail(machine, f"lost: {lost}")

    def fail(self, machine, why):
        rest = []
        if not machine.is_killed:
            # It still tells the end of the log.
            time.sleep(2)
            rest = [line for line in machine.kill() if line.startswith("log")]
        sys.exit("\n".join([f"{self.what} on {self.on}, seed {self.options.seed}: {why}; all is kept in {self.home}", *rest]))

    def cut(self, modules):
        kept, moment = self.rng.choice(["all", "some", "none"]), Moment(self.rng, self.world)
        machine = self.boot(modules)
        self.hear(machine, lambda line: moment.has_come(line, self.world.is_opened))
        time.sleep(moment.seconds)
        for line in machine.kill():
            self.note(machine, line)
        where = "in use" if self.world.is_opened else "opening"
        self.ends[kept] += 1
        self.ends[where] += 1
        self.zones = list(machine.zones.left(kept, self.rng))
        print(f"{self.what} on {self.on}: cut {self.ends.total() // 2} {where}, unflushed kept: {kept}; {self.world.counts()}", flush=True)

    def end(self, modules):
        """Boots once more, and looks whether all is there."""
        machine = self.boot(modules)
        self.hear(machine, lambda _: self.world.is_opened)
        machine.kill()
        ends = ", ".join(f"{self.ends[name]} {name}" for name in ["all", "some", "none", "opening", "in use"])
        print(f"{self.what} on {self.on}: {self.options.cuts} power cuts ({ends}); {self.world.counts()}; lost: 0", flush=True)


def main():
    options = arguments()
    home = pathlib.Path(tempfile.mkdtemp(prefix="frostline-zns-"))
    files = home / "root"
    is_disk = "disk" in options.what
    for directory in ["bin", "lib", "proc", "sys", "dev"]:
        (files / directory).mkdir(parents=True)
    shutil.copy(options.busybox, files / "bin/busybox")
    shutil.copy(HERE / "zns_guest.sh", files / "init")
    (files / "init").chmod(0o755)
    shutil.copy(HERE / "files.sh", files / "files.sh")
    for name in ["blkzone", *(["mkfs.ext4", "e2fsck"] if is_disk else [])]:
        copy_program(find_program(name), files / "bin" / name, files)
    copy_program(built("build", "-p", "frostline-cli"), files / "bin/frostline", files)
    wanted = ["nvme", "virtio_pci", "virtio_console", "mq-deadline", "zonefs", *(["ext4", "ublk_drv"] if is_disk else [])]
    modules = copy_modules(wanted, options.modules, files / "modules")
    print(f"seed {options.seed}", flush=True)
    for what in options.what:
        if what != "disk":
            copy_program(built("test", "--no-run", "-p", f"frostline-{what}", "--test", "power_cuts"),
                         files / "bin/load", files)
        for on in options.on:
            life = Life(options, what, on, files, home)
            for _ in range(options.cuts):
                life.cut(modules)
            life.end(modules)
    shutil.rmtree(home)


main()
