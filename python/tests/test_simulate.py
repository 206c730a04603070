import errno
import signal
import threading
import time

import numpy as np
import pytest

import frostline as fl

SCHEMES = ["nosep", "sepbit", "dac:classes=4", "frostline", "oracle-rate-frozen", "2r-fifo"]


def test_results_are_those_of_the_command_bit_for_bit(trace_file, command):
    options = ["--window", "50000", "--warmup", "10000", "--zone", "1MiB", "--no-timing"]
    theirs = command(
        "sim", trace_file, "--scheme", ",".join(SCHEMES), "--victim", "greedy,cost-benefit",
        "--json", "-", "--quiet", *options,
    )  # fmt: skip
    ours = fl.simulate(
        str(trace_file), SCHEMES, victims=["greedy", "cost-benefit"], window=50_000,
        warmup=10_000, zone="1MiB", timing=False,
    )  # fmt: skip
    assert ours.report == theirs
    assert len(ours) == 11, "2r-fifo has its own victim side"


def test_over_provisioning_and_preloads_are_those_of_the_command(trace_file, command):
    theirs = command(
        "sim", trace_file, "--scheme", "sepbit,midas", "--op", "0.2", "--zone", "1MiB", "--preload",
        trace_file, "--json", "-", "--no-timing", "--quiet",
    )  # fmt: skip
    trace = fl.open(trace_file, preload=trace_file)
    ours = fl.simulate(trace, "sepbit,midas", op=0.2, zone="1MiB", timing=False)
    assert ours.report == theirs


def test_the_authors_simulator_is_followed_as_by_the_command(trace_file, command):
    theirs = command(
        "sim", trace_file, "--scheme", "nosep,sepbit,dac", "--semantics", "sepbit-fast22",
        "--json", "-", "--no-timing", "--quiet",
    )  # fmt: skip
    ours = fl.simulate(str(trace_file), "nosep,sepbit,dac", semantics="sepbit-fast22", timing=False)
    assert ours.report == theirs
    with pytest.raises(fl.Error, match="times=True"):
        fl.simulate(fl.open(trace_file), "sepbit", semantics="sepbit-fast22")


def test_a_trained_model_recognises_frozen_pages_as_by_the_command(trace_file, tmp_path, command):
    model = tmp_path / "model.json"
    command("train", trace_file, "-o", model, "--json", "-", "--quiet")
    theirs = command(
        "sim", trace_file, "--scheme", "frozen:sepbit:recogniser=model", "--model", model,
        "--json", "-", "--no-timing", "--quiet",
    )  # fmt: skip
    ours = fl.simulate(fl.open(trace_file), "frozen:sepbit:recogniser=model", model=model, timing=False)
    assert ours.report == theirs
    model.write_text("{}")
    with pytest.raises(fl.Error, match="model.json"):
        fl.simulate(trace_file, "frozen:sepbit:recogniser=model", model=model)


def test_lists_and_traces_are_described_as_by_the_command(trace_file, command):
    theirs = command("schemes", "--json")
    assert fl.schemes()["name"].tolist() == [row["name"] for row in theirs["schemes"]]
    assert fl.victims()["name"].tolist() == [row["name"] for row in theirs["victims"]]
    assert fl.trace_info(trace_file) == command("trace", "info", trace_file, "--json", "--quiet")


def test_an_array_a_list_and_a_file_are_the_same_trace(lbas, trace_file):
    def counts(trace):
        runs = fl.simulate(trace, "sepbit", timing=False)
        return runs.report["runs"]

    expected = counts(trace_file)
    assert counts(lbas) == expected
    assert counts(lbas.astype(np.int64)[:]) == expected
    assert counts(lbas.tolist()) == expected
    assert counts(fl.open(lbas)) == expected


def test_several_traces_are_summed_first(lbas):
    runs = fl.simulate([fl.open(lbas, name="a"), fl.open(lbas[:100_000], name="b")], "sepbit", gain=False)
    assert runs["volume"].tolist() == ["all", "a", "b"]
    assert runs["user_writes"][0] == runs["user_writes"][1:].sum()


def test_columns_of_a_trace_share_its_memory_and_cannot_be_written(lbas):
    trace = fl.open(lbas)
    words = trace.words()
    assert np.array_equal(words & 0x7FFFFFFF, lbas)
    assert np.array_equal(trace.lbas(), lbas)
    assert np.shares_memory(words, trace.words())
    with pytest.raises(ValueError, match="read-only"):
        words[0] = 1
    final = words >> 31 == 1
    assert np.array_equal(trace.lifespans() == 2**32 - 1, final)
    assert final.sum() == len(np.unique(lbas)) == trace.unique_pages
    del trace
    assert np.array_equal(words & 0x7FFFFFFF, lbas), "the array keeps the trace alive"


def test_generated_and_saved_traces_are_those_of_the_command(lbas, tmp_path, command):
    fl.save(lbas, tmp_path / "ours.u32")
    info = fl.trace_info(tmp_path / "ours.u32")["volumes"][0]
    assert info["writes"] == len(lbas)
    assert np.array_equal(np.fromfile(tmp_path / "ours.u32", dtype="<u4"), lbas)


def test_a_missing_file_is_an_error_of_both_kinds_that_names_it(tmp_path):
    none = tmp_path / "none"
    for missing in (
        lambda: fl.open(none),
        lambda: fl.simulate(none),
        lambda: fl.trace_info(none),
        lambda: fl.Db.open(none, read_only=True),
        lambda: fl.Store.open(none),
    ):
        for kind in (fl.Error, FileNotFoundError, fl.NotFound):
            with pytest.raises(kind) as raised:
                missing()
        assert raised.value.errno == errno.ENOENT
        assert raised.value.filename == str(none)


def test_what_cannot_be_done_is_an_error_that_says_why(lbas, tmp_path):
    for arguments, why in [
        ({"schemes": "sepbitt"}, "unknown scheme"),
        ({"schemes": "dac:classes=x"}, "must be a number"),
        ({"schemes": "sepbit", "victims": "greedier"}, "unknown victim policy"),
        ({"schemes": "sepbit", "zone": "4 furlongs"}, "not a size"),
        ({"schemes": "sepbit", "zone": "5000"}, "whole number of pages"),
        ({"schemes": "sepbit", "gp": 2.0}, "must be from"),
        ({"schemes": "sepbit", "gp": 15}, "did you mean 0.15"),
        ({"schemes": "sepbit", "op": [0.07, 10]}, "did you mean 0.10"),
        ({"schemes": "sepbit", "gp": 0.1, "op": 0.1}, "neither"),
        ({"schemes": "sepbit", "warmup": 10**9}, "only"),
        ({"schemes": "sepbit", "semantics": "mine"}, "unknown semantics"),
    ]:
        with pytest.raises(fl.Error, match=why):
            fl.simulate(lbas, **arguments)
    with pytest.raises(ValueError, match="2\\^32"):
        fl.open([1, -1])
    with pytest.raises(TypeError, match="page numbers"):
        fl.open([0.5])
    with pytest.raises(fl.Error, match="unknown kind"):
        fl.generate("zip", pages=1, writes=1)


def test_lists_of_settings_have_a_run_for_each_combination(lbas):
    runs = fl.simulate(lbas, "sepbit", zone=["256KiB", 2**19], op=(0.2, 0.3), gain=False, timing=False)
    alone = [
        fl.simulate(lbas, "sepbit", zone=zone, op=op, gain=False, timing=False).report["runs"][0]
        for zone in ("256KiB", "512KiB")
        for op in (0.2, 0.3)
    ]
    assert runs.report["runs"] == alone


def test_progress_is_told_and_an_exception_of_it_ends_the_replay(lbas):
    told = []
    fl.simulate(lbas, "sepbit", progress=lambda done, of: told.append((done, of)))
    assert told[-1][0] == told[-1][1] == 3 * len(lbas), "two more for the gain"

    def broken(done, of):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fl.simulate(lbas, "sepbit", progress=broken)


def test_a_bar_is_drawn_where_tqdm_is_installed(lbas, capsys):
    pytest.importorskip("tqdm")
    fl.simulate(lbas, "sepbit", gain=False, progress=True)
    assert "replaying: 100%" in capsys.readouterr().err


def test_other_threads_run_during_a_replay(lbas):
    ticks, over = [], threading.Event()

    def count():
        while not over.wait(0.001):
            ticks.append(time.monotonic())

    counter = threading.Thread(target=count)
    counter.start()
    fl.simulate(np.tile(lbas, 10), "sepbit", gain=False)
    before = len(ticks)
    over.set()
    counter.join()
    assert before > 1


def test_ctrl_c_ends_a_replay(lbas):
    many = np.tile(lbas, 10)
    main = threading.get_ident()
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(1000):
            fl.simulate(many, "sepbit")
