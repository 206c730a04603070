import json
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import frostline as fl

SCHEMES = ["nosep", "sepbit", "dac"]


@pytest.fixture(scope="module")
def traces(lbas, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    paths = []
    for number, part in enumerate(np.array_split(lbas, 3)):
        paths.append(folder / f"{number}.u32")
        fl.save(part, paths[-1])
    return paths


@pytest.fixture(scope="module")
def expected(traces):
    return fl.sweep(traces, SCHEMES, victims="greedy,cost-benefit")


def test_a_sweep_has_the_rows_of_simulations_in_order(traces, expected):
    assert len(expected) == 18
    assert expected["trace"].tolist() == [str(path) for path in traces for _ in range(6)]
    for path in traces:
        runs = fl.simulate(path, SCHEMES, victims="greedy,cost-benefit", gain=False, timing=False)
        ours = expected.where(trace=str(path))
        for name in ("scheme", "victim", "waf", "far", "relocations", "peak_bytes"):
            assert ours[name].tolist() == runs[name].tolist()


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, None])
def test_any_executor_gives_the_same_table(traces, expected, executor):
    pool = executor and executor(3)
    assert fl.sweep(traces, SCHEMES, victims=["greedy", "cost-benefit"], executor=pool) == expected


def test_processes_give_the_same_table(traces, expected):
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert fl.sweep(traces, SCHEMES, victims="greedy,cost-benefit", executor=pool) == expected


class Counting:
    """An executor that counts what it is asked for, and may fail after a while."""

    def __init__(self, most=None):
        self.inner, self.asked, self.most = ThreadPoolExecutor(1), [], most

    def submit(self, function, *arguments):
        self.asked.append(arguments)
        if self.most is not None and len(self.asked) > self.most:
            return self.inner.submit(self.fail)
        return self.inner.submit(function, *arguments)

    def fail(self):
        raise OSError("gone")


def test_a_sweep_that_was_interrupted_runs_only_what_is_missing(traces, expected, tmp_path):
    manifest = tmp_path / "cells.jsonl"
    options = {"victims": "greedy,cost-benefit", "manifest": manifest}
    with pytest.raises(OSError, match="gone"):
        fl.sweep(traces, SCHEMES, executor=Counting(7), **options)
    assert len(manifest.read_text().splitlines()) == 7
    # The last line is cut, as by a crash.
    manifest.write_bytes(manifest.read_bytes()[:-40])
    again = Counting()
    assert fl.sweep(traces, SCHEMES, executor=again, **options) == expected
    assert len(again.asked) == 12
    third = Counting()
    assert fl.sweep(traces, SCHEMES, executor=third, **options) == expected
    assert third.asked == []
    fl.sweep(traces, SCHEMES, executor=third, gp=0.2, **options)
    assert len(third.asked) == 18, "other settings are other cells"
    assert all(json.loads(line)["sha256"] for line in manifest.read_text().splitlines()[8:])


def test_the_largest_traces_are_submitted_first(lbas):
    executor = Counting()
    fl.sweep({"small": lbas[:20_000], "large": lbas, "middle": lbas[:50_000]}, "nosep", executor=executor)
    assert [len(arguments[0]) for arguments in executor.asked] == [len(lbas), 50_000, 20_000]


def test_a_trace_that_changed_meanwhile_is_refused(traces, tmp_path):
    from frostline.sweeping import _digested, _replay

    path, digest = _digested(traces[0])
    with pytest.raises(fl.Error, match="not what the sweep was asked for"):
        _replay(path, "0" * 64, "nosep", "greedy", {})
    assert _replay(path, digest, "nosep", "greedy", {})[0]["scheme"] == "nosep"


def test_a_dask_worker_that_is_killed_changes_nothing(traces, expected):
    distributed = pytest.importorskip("distributed")
    quiet = {"silence_logs": 50, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killed = threading.Event()

        def kill_one(done, of):
            if done >= 3 and not killed.is_set():
                killed.set()
                os.kill(pids[0], signal.SIGKILL)

        table = fl.sweep(
            traces,
            SCHEMES,
            victims="greedy,cost-benefit",
            executor=client,
            progress=kill_one,
            submit=lambda cell: {"retries": 3, "pure": False},
        )
        assert killed.is_set()
        assert table == expected
