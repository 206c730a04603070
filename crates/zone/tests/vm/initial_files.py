"""The initial file system of a virtual machine for tests: programs with their libraries, and modules of the kernel."""

import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys


def find_program(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    return found or sys.exit(f"no {name} on this machine")


def copy_program(path, to, root):
    """Copies a program or library to a place below `root`, and the shared libraries that it needs."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)
    listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        # All in one directory, but for the loader, whose path is in the program.
        place = root / library.lstrip("/") if "ld-linux" in library else root / "lib" / pathlib.Path(library).name
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)


def copy_modules(wanted, modules, to):
    """Copies modules and those that they depend on; returns all names in the order of loading. A module that is absent is in the kernel."""
    files = {}
    for path in pathlib.Path(modules).rglob("*.ko*"):
        files[path.name.split(".ko")[0].replace("-", "_")] = path
    order = []

    def load(name):
        name = name.replace("-", "_")
        if name in order or name not in files:
            return
        raw = files[name].read_bytes()
        raw = lzma.decompress(raw) if files[name].suffix == ".xz" else raw
        for depends in re.findall(rb"\0depends=([^\0]*)\0", raw):
            for other in filter(None, depends.decode().split(",")):
                load(other)
        (to / f"{name}.ko").write_bytes(raw)
        order.append(name)

    to.mkdir()
    for name in wanted:
        load(name)
    return order


def archive(directory, busybox, to):
    names = subprocess.run(["find", "."], cwd=directory, stdout=subprocess.PIPE, check=True).stdout
    with open(to, "wb") as out:
        subprocess.run([busybox, "cpio", "-o", "-H", "newc"], cwd=directory, input=names, stdout=out, stderr=subprocess.DEVNULL, check=True)
    with open(to, "ab") as out:
        out.write(bytes(-out.tell() % 512))
