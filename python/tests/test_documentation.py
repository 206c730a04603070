"""What the documentation shows runs."""

import doctest
import re
from pathlib import Path

import pytest

import frostline as fl
from frostline import engines

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.parametrize("module", [fl, engines])
def test_examples_of_the_modules_give_what_they_say(module):
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_the_guide_runs_from_top_to_bottom(lbas, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fl.save(lbas[:30_000], "trace.u32.zst")
    names = {
        "numpy_array_of_lbas": lbas[:30_000],
        "paths": ["trace.u32.zst"],
        "page": bytes(4096),
    }
    smaller = {"4GiB": "32MiB", "4MiB": "256KiB", 'victims="all"': 'victims="greedy"', "1_000_000": "10_000"}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        if "distributed" in block:
            continue
        for shown, run in smaller.items():
            block = block.replace(shown, run)
        exec(compile(block, str(GUIDE), "exec"), names)
    assert Path("cells.jsonl").exists()
    assert len(names["runs"]) == 6
