#!/usr/bin/env python3
"""SQLite's own test suite on the VFS `frostline`: counts the tests that pass, and names those that do not.

Needs SQLite's sources (not the amalgamation), Tcl with its headers, and a C compiler. On Debian, with `deb-src` among the sources:
  apt-get install tcl-dev zlib1g-dev && apt-get source sqlite3
  cargo build --release -p frostline-sqlite
  crates/sqlite/tests/suite/run.py sqlite3-3.40.1

Each script runs in a process and a store of its own, in memory (/dev/shm). A script with failures runs again on SQLite's own VFS in the same way: what fails
there as well is told apart. The rest must have a reason in reasons.txt, or the exit status is 1.
"""

import argparse, concurrent.futures, fnmatch, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="directory of SQLite's sources")
    parser.add_argument("--permutation", default="veryquick")
    parser.add_argument("--scripts", default="*", help="only scripts of such names, as 'wal*,pager1'")
    parser.add_argument("--extension", type=pathlib.Path, default=ROOT / "target/release/libfrostline_sqlite.so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=600, help="a script may take so long")
    parser.add_argument("--verbose", action="store_true", help="what was expected, and what came")
    return parser.parse_args()


def build(source):
    """Builds `testfixture`, SQLite's Tcl with its test commands, and the fixture of this directory."""
    directory = source / "bld"
    program = directory / "testfixture"
    if not program.exists():
        directory.mkdir(exist_ok=True)
        for command in [["../configure"], ["make", "testfixture"]]:
            subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fixture = directory / "fixture.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-I{directory}", *tcl_headers(), HERE / "fixture.c", "-o", fixture], check=True)
    return program.resolve(), fixture.resolve()


def tcl_headers():
    for config in sorted(pathlib.Path("/usr/lib").glob("**/tclConfig.sh")):
        if found := re.search(r"^TCL_INCLUDE_SPEC='(.+)'", config.read_text(), re.M):
            return found[1].split()
    sys.exit("run.py: no tclConfig.sh below /usr/lib: install tcl-dev")


class Run:
    """What became of a script on a VFS."""

    def __init__(self, command, seconds):
        directory = tempfile.mkdtemp(dir="/dev/shm")
        self.ended = "ended early"
        try:
            done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
            output = done.stdout
        except subprocess.TimeoutExpired as expired:
            output, self.ended = expired.stdout or b"", f"took more than {seconds} seconds"
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        self.output = output.decode(errors="replace")
        counted = re.search(r"(\d+) errors out of (\d+) tests", self.output)
        self.tests = int(counted[2]) if counted else len(re.findall(r"^\S+\.\.\.", self.output, re.M))
        named = re.search(r"^!Failures on these tests: (.*)$", self.output, re.M)
        self.failed = named[1].split() if named else []
        if not counted:
            self.failed = re.findall(r"^! (\S+) expected", self.output, re.M) + ["(" + self.ended + ")"]

    def details(self):
        return "\n".join(line for line in self.output.splitlines() if re.match(r"!|Error|    \"|.*rror:", line))


def main():
    options = arguments()
    program, fixture = build(options.source)
    listed = subprocess.check_output([program, HERE / "suite.tcl", "--list", options.permutation, options.source.resolve() / "test"], cwd=tempfile.mkdtemp(), text=True)
    wanted = options.scripts.split(",")
    is_wanted = lambda path: any(fnmatch.fnmatch(pathlib.Path(path).stem, pattern) for pattern in wanted)
    scripts = [line for line in listed.split() if line.endswith(".test") and is_wanted(line)]
    reasons = [line.split(None, 1) for line in (HERE / "reasons.txt").read_text().splitlines() if line and not line.startswith("#")]

    def run(script):
        command = [program, HERE / "suite.tcl", script]
        ours = Run([*command, options.extension.resolve(), fixture], options.seconds)
        own = Run([*command, "", ""], options.seconds) if ours.failed else None
        return script, ours, own

    tests, everywhere, unexplained, by_reason = 0, 0, 0, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for script, ours, own in pool.map(run, scripts):
            tests += ours.tests
            name = pathlib.Path(script).stem
            only_ours = [test for test in ours.failed if test not in own.failed] if own else []
            everywhere += len(ours.failed) - len(only_ours)
            left = []
            for test in only_ours:
                of_script = f"{name}:{test}"
                reason = next((reason for pattern, reason in reasons if fnmatch.fnmatchcase(of_script, pattern)), None)
                if reason is None:
                    left.append(test)
                else:
                    by_reason.setdefault(reason, []).append(of_script)
            unexplained += len(left)
            if left:
                print(f"{name}: {' '.join(left)}", flush=True)
                if options.verbose:
                    print(ours.details(), flush=True)
    failed = everywhere + unexplained + sum(map(len, by_reason.values()))
    print(f"{len(scripts)} scripts, {tests} tests, {tests - failed} passed")
    print(f"{everywhere} failed on SQLite's own VFS as well")
    for reason, failures in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        print(f"{len(failures)} failed: {reason}")
    print(f"{unexplained} failed without a reason")
    sys.exit(1 if unexplained else 0)


main()
