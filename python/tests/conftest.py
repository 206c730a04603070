"""What the tests share: a trace, and the command to compare with."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import frostline as fl

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def lbas():
    """A small trace: a table that is written by Zipf's law, and an area that is appended to."""
    return fl.generate("oltp", pages=20_000, writes=200_000, fill=True, seed=3)


@pytest.fixture(scope="session")
def trace_file(lbas, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "oltp.u32.zst"
    fl.save(lbas, path)
    return path


@pytest.fixture(scope="session")
def command():
    """Runs `frostline` and returns the JSON that it prints."""
    binary = os.environ.get("FROSTLINE")
    if not binary:
        pytest.skip("FROSTLINE does not name the built command")

    def run(*arguments):
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, check=True)
        return _shared(json.loads(done.stdout))

    return run


def _shared(report):
    """A report without what only the command knows: its own line, and its files by their content."""
    if isinstance(report, dict) and "runs" in report:
        for own in ("command", "commit"):
            report.pop(own, None)
        for own in ("preload", "model"):
            report.get("setup", {}).pop(own, None)
        for trace in [report.get("trace", {}), *report.get("traces", [])]:
            trace.pop("bytes", None)
            trace.pop("sha256", None)
    return report
