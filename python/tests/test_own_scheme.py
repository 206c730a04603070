import sys
from pathlib import Path

import numpy as np
import pytest

import frostline as fl

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from own_sepbit import PySepbit  # noqa: E402

COUNTS = ["user_writes", "relocations", "zones_reclaimed", "cleanings", "spilled", "victim_gp"]

needs_numba = pytest.mark.skipif(not PySepbit.compiled, reason="Numba is not installed")


def counts(trace, scheme, **options):
    runs = fl.simulate(trace, scheme, gain=False, zone="64KiB", **options).report["runs"]
    return [[run[name] for name in COUNTS] + [run["classes"]] for run in runs]


@needs_numba
@pytest.mark.parametrize("space", [{"gp": 0.15}, {"op": 0.2}])
def test_sepbit_written_in_python_counts_as_ours(lbas, space):
    ours = counts(lbas, "sepbit", victims="greedy,cost-benefit", **space)
    assert counts(lbas, PySepbit, victims="greedy,cost-benefit", **space) == ours
    assert ours[0][2] > 100, "zones were cleaned"


def test_without_numba_the_result_is_the_same(lbas):
    plain = fl.scheme(compiled=False)(PySepbit._made)
    few = lbas[:30_000]
    assert not plain.compiled
    # A function that is compiled can be called from Python as well.
    assert counts(few, plain) == counts(few, "sepbit")


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_parameters_are_fields_and_part_of_the_name(lbas, compiled):
    @fl.scheme(name="recent", compiled=compiled)
    class Recent:
        """By whether the last write was recent."""

        classes = 2
        page = {"written": "u4"}
        params = {"window": 8192, "share": 1.0}

        def place_user(self, write, page):
            recent = write.now - page.written < self.window * self.share and not write.first
            page.written = write.now
            return 0 if recent else 1

        def place_relocation(self, move, page):
            return 1

    few = lbas[:30_000]
    wide, narrow = counts(few, Recent), counts(few, Recent(window=64))
    assert wide != narrow == counts(few, Recent(window=128, share=0.5))
    names = fl.simulate(few[:100], [Recent, Recent(window=64)], gain=False)["scheme"].tolist()
    assert names == ["recent", "recent:window=64"]
    with pytest.raises(fl.Error, match='no parameter "wide"'):
        fl.simulate(few[:100], Recent(wide=1))


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_what_is_kept_is_cut_to_its_type(lbas, compiled):
    @fl.scheme(name="counting", compiled=compiled)
    class Counting:
        """By how often a page was written, modulo 4."""

        classes = 4
        page = {"writes": "u1", "others": ("i2", 3)}
        state = {"seen": ("u1", 4), "calls": "i8"}

        def place_user(self, write, page):
            page.writes = page.writes + 65
            page.others[1] = page.others[1] - 20_000
            self.calls += 1
            self.seen[self.calls % 4] += 100
            return (page.writes + page.others[1] + self.seen[2]) % 4

        def place_relocation(self, move, page):
            return page.writes % 4

    few = lbas[:30_000]
    classes = fl.simulate(few, Counting, gain=False).classes
    assert (classes["user_writes"] > 0).all()
    by_hand, seen, others, told = {}, [0] * 4, {}, np.zeros(4, dtype=int)
    for calls, lba in enumerate(few.tolist(), 1):
        by_hand[lba] = (by_hand.get(lba, 0) + 65) % 256
        others[lba] = (others.get(lba, 0) - 20_000 + 32_768) % 65_536 - 32_768
        seen[calls % 4] = (seen[calls % 4] + 100) % 256
        told[(by_hand[lba] + others[lba] + seen[2]) % 4] += 1
    assert classes["user_writes"].tolist() == told.tolist()


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_a_class_that_there_is_not_and_an_exception_end_the_replay(lbas, compiled):
    def made(method):
        class Broken:
            """Places as it should not."""

            classes = 2
            place_user = method

            def place_relocation(self, move, page):
                return 0

        return fl.scheme(name="broken", compiled=compiled)(Broken)

    def many(self, write, page):
        return 2

    def less(self, write, page):
        return -1

    def raises(self, write, page):
        return 1 // (100 - write.now)

    few = lbas[:30_000]
    with pytest.raises(fl.Error, match="place_user answered class 2, and there are 2"):
        fl.simulate(few, made(many))
    with pytest.raises(fl.Error, match="answered class -1"):
        fl.simulate(few, made(less))
    with pytest.raises(fl.Error, match="place_user raised") as raised:
        fl.simulate(few, made(raises))
    assert compiled or isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_a_field_that_was_not_declared_is_named_with_its_line_and_those_that_were(lbas, compiled):
    def refused(method, why):
        class Forgetful:
            """Uses what it did not declare."""

            classes = 2
            page = {"written": "u4"}
            state = {"calls": "i8"}
            params = {"window": 64}
            place_user = method

            def place_relocation(self, move, page):
                return 0

        with pytest.raises(AttributeError, match=why) as raised:
            fl.simulate(lbas[:1000], fl.scheme(name="forgetful", compiled=compiled)(Forgetful))
        return str(raised.value)

    def of_scheme(self, write, page):
        self.calls += 1
        return self.nothing

    def of_write(own, written, of_page):
        return written.time

    def of_page(self, write, page):
        page.writen = write.now
        return 0

    def of_other(self, write, page):
        page = self
        return page.calls * 0

    line = of_scheme.__code__.co_firstlineno + 2
    why = refused(of_scheme, r"forgetful.place_user, line \d+ of .*: self has no field 'nothing'")
    assert f"line {line} of {__file__}" in why
    assert why.endswith("(known: window calls)")
    refused(of_write, r"written has no field 'time' \(known: lba now first class_ zone offset valid\)")
    refused(of_page, r"page has no field 'writen' \(known: written\)")
    named = type("Shadow", (), {"classes": 2, "state": {"calls": "i8"}, "place_user": of_other,
                                "place_relocation": lambda self, move, page: 0})
    fl.simulate(lbas[:1000], fl.scheme(name="shadow", compiled=compiled)(named), gain=False)


@needs_numba
def test_a_field_that_a_compiled_function_misses_is_named(lbas):
    @fl.jit
    def helper(state):
        return state.nothing

    @fl.scheme(name="helped", compiled=True)
    class Helped:
        """Asks a function."""

        classes = 2
        state = {"calls": "i8"}

        def place_user(self, write, page):
            return helper(self)

        def place_relocation(self, move, page):
            return 0

    with pytest.raises(AttributeError, match=r"place_user has a field 'nothing' \(known: calls; lba now .*; none\)"):
        fl.simulate(lbas[:1000], Helped)


def test_a_scheme_that_is_not_whole_is_refused(lbas):
    def refused(error, why, **parts):
        made = type("Mine", (), {"classes": 2, **parts})
        with pytest.raises(error, match=why):
            fl.simulate(lbas, fl.scheme(compiled=False)(made))

    place = {"place_user": lambda self, write, page: 0, "place_relocation": lambda self, move, page: 0}
    refused(TypeError, "no place_relocation and no place_user")
    refused(TypeError, "no type of a field", **place, page={"x": "u8"})
    refused(fl.Error, "24 are the most", **place, page={"x": ("i8", 4)})
    refused(fl.Error, "from 1 to 255", **{**place, "classes": 0})
    named = fl.scheme(name="sepbit", compiled=False)(type("Mine", (), {"classes": 2, **place}))
    with pytest.raises(fl.Error, match="two schemes are named"):
        fl.simulate(lbas, named)
