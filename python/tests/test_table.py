import numpy as np
import pytest

import frostline as fl


@pytest.fixture(scope="module")
def runs(lbas):
    return fl.simulate(lbas, "nosep,sepbit", window=50_000, gain=False)


def test_columns_are_arrays_and_missing_numbers_are_nan(runs):
    assert runs["scheme"].tolist() == ["nosep", "sepbit"]
    assert runs["user_writes"].dtype.kind == "i"
    assert np.isnan(runs["gain"]).all()
    assert runs["gp"].tolist() == [0.15, 0.15]
    assert runs.where(scheme="sepbit")["waf"][0] == runs["waf"][1]


def test_classes_and_windows_sum_up_to_the_run(runs):
    sepbit = runs.classes.where(scheme="sepbit")
    assert sepbit["class"].tolist() == [1, 2, 3, 4, 5, 6]
    windows = runs.windows.where(scheme="sepbit")
    assert windows["window"].tolist() == list(range(len(windows)))
    for part in (sepbit, windows):
        assert part["relocations"].sum() == runs["relocations"][1]
        assert part["user_writes"].sum() == runs["user_writes"][1]


def test_a_plot_has_a_bar_for_each_run_and_a_line_for_its_windows(runs, lbas):
    figure = pytest.importorskip("matplotlib.figure")
    bars, course = runs.plot(figure.Figure()).axes
    assert [label.get_text() for label in bars.get_yticklabels()] == ["sepbit", "nosep"], "the least WAF first"
    ends = [bar.get_x() + bar.get_width() for bar in bars.patches]
    assert ends == pytest.approx(sorted(runs["waf"]))
    wafs = runs.windows.where(scheme="sepbit")["waf"]
    assert course.lines[0].get_ydata() == pytest.approx(wafs)

    runs = fl.simulate([fl.open(lbas, name="a"), fl.open(lbas, name="b")], "sepbit", gain=False)
    (bars,) = runs.plot(figure.Figure()).axes
    assert len({label.get_text() for label in bars.get_yticklabels()}) == len(runs), "bars have names of their own"


def test_other_libraries_have_the_same_columns(runs):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    assert runs.to_pandas().to_dict("list")["waf"] == runs["waf"].tolist()
    assert runs.to_polars()["waf"].to_list() == runs["waf"].tolist()
    assert runs.to_arrow()["waf"].to_pylist() == runs["waf"].tolist()
    assert pyarrow.table(runs).equals(runs.to_arrow()), "by Arrow's stream"
    assert polars.DataFrame(runs).columns == runs.keys(), "by Arrow's stream"
    assert list(pandas.DataFrame(dict(runs)).columns) == runs.keys()


def test_tables_are_shown_as_text_and_html(runs):
    text = repr(runs).splitlines()
    assert text[0].split()[:3] == ["scheme", "method", "victim"]
    assert text[2].split()[0] == "sepbit"
    assert fl.Table({"a<b": [None, 0.5]})._repr_html_().count("<tr>") == 3
    assert "a&lt;b" in fl.Table({"a<b": [None]})._repr_html_()
    with pytest.raises(ValueError, match="same length"):
        fl.Table({"a": [1], "b": []})
