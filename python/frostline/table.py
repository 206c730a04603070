"""Tables of results: columns of equal length, which other libraries take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np


class Table:
    """Columns by name. A missing value is ``None``.

    ``pandas.DataFrame(dict(table))``, :meth:`to_pandas`, :meth:`to_polars` and :meth:`to_arrow`
    give the same columns; whatever reads Arrow's PyCapsule interface takes the table as it is.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: list(values) for name, values in columns.items()}
        if len({len(values) for values in self._columns.values()}) > 1:
            raise ValueError("columns are not of the same length")

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """A table of dictionaries, whose keys are the columns, in the order of their first."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: [row.get(name) for row in rows] for name in names})

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """A column as an array. Numbers of which some are missing are floats, with NaN for these."""
        values = self._columns[name]
        if any(value is None for value in values) and not any(isinstance(v, str) for v in values):
            return np.array([np.nan if value is None else value for value in values], dtype=float)
        if any(isinstance(value, str) for value in values):
            return np.array(values, dtype=object)
        return np.array(values)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._columns == other._columns

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [
            dict(zip(self._columns, row, strict=True)) for row in zip(*self._columns.values(), strict=True)
        ]

    def where(self, **values: Any) -> Table:
        """The rows that have these values: ``runs.where(scheme="sepbit")``."""
        rows = [row for row in self.rows() if all(row[name] == value for name, value in values.items())]
        return Table({name: [row[name] for row in rows] for name in self._columns})

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``."""
        import pandas

        return pandas.DataFrame(self._columns)

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self._columns, strict=False)

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self._columns)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            table = self.to_arrow()
        except ImportError:
            table = self.to_polars()
        return table.__arrow_c_stream__(requested_schema)

    def _texts(self) -> list[list[str]]:
        return [[_text(value) for value in row.values()] for row in self.rows()]

    def __repr__(self) -> str:
        lines = [self.keys(), *self._texts()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        def line(tag: str, texts: Sequence[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"

        body = "".join(line("td", texts) for texts in self._texts())
        return f"<table><thead>{line('th', self.keys())}</thead><tbody>{body}</tbody></table>"


class Results(Table):
    """The runs of a simulation, a row each: by volume, scheme and victim policy.

    :attr:`report` is what ``frostline sim --json -`` prints of the same runs.
    """

    def __init__(self, report: dict[str, Any]) -> None:
        runs = report["runs"]
        super().__init__(Table.of_rows([_flat(run) for run in runs])._columns)
        #: The report as the command prints it.
        self.report = report

    @property
    def classes(self) -> Table:
        """Page writes by class, a row for each run and class."""
        return self._part("classes")

    @property
    def windows(self) -> Table:
        """The runs in windows, a row each, numbered from 0; empty unless ``window`` was given."""
        return self._part("windows")

    @property
    def gauges(self) -> Table:
        """Figures of the schemes' own: run, name, value."""
        runs = self.report["runs"]
        rows = [
            {**_key(run), "gauge": name, "value": value}
            for run in runs
            for name, value in run.get("gauges", {}).items()
        ]
        return Table.of_rows(rows)

    def plot(self, figure: Any = None) -> Any:
        """A Matplotlib figure: a bar for the WAF of each run, the least first; with windows its course, too.

        It is drawn in ``figure`` if one is given.
        """
        if figure is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=(10, 4), layout="constrained")
        told_apart = [name for name in ("volume", "scheme", "victim") if len(set(self._columns.get(name, ()))) > 1]
        rows = [(run["waf"], _name(run, told_apart), run["windows"]) for run in self.report["runs"]]
        rows.sort(key=lambda row: row[0])
        with_windows = any(windows for _, _, windows in rows)
        axes = figure.subplots(1, 2 if with_windows else 1, squeeze=False)[0]
        bars = axes[0].barh([name for _, name, _ in rows], [waf - 1 for waf, _, _ in rows], left=1)
        axes[0].bar_label(bars, [f"{waf:.3f}" for waf, _, _ in rows], padding=3)
        axes[0].margins(x=0.15)
        axes[0].invert_yaxis()
        axes[0].set_xlabel("WAF")
        if with_windows:
            for _, name, windows in rows:
                writes = np.cumsum([window["user_writes"] for window in windows])
                axes[1].plot(writes, [window["waf"] for window in windows], label=name)
            axes[1].set(xlabel="user writes", ylabel="WAF")
            axes[1].legend(frameon=False)
        return figure

    def _part(self, part: str) -> Table:
        rows = []
        for run in self.report["runs"]:
            for number, row in enumerate(run[part]):
                own = {name: value for name, value in row.items() if name != "gauges"}
                rows.append({**_key(run), **({"window": number} if part == "windows" else {}), **own})
        return Table.of_rows(rows)


def _key(run: Mapping[str, Any]) -> dict[str, Any]:
    return {name: run[name] for name in ("volume", "scheme", "victim") if name in run}


def _name(run: Mapping[str, Any], told_apart: Sequence[str]) -> str:
    return ", ".join(str(run[name]) for name in told_apart or ["scheme"])


def _flat(run: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in run.items():
        if name in ("classes", "windows", "gauges", "parameters", "victim_gp_histogram"):
            continue
        if name == "trigger":
            row.update(value)
        elif isinstance(value, dict):
            row.update({f"{name}_{part}": number for part, number in value.items()})
        else:
            row[name] = value
    return row


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
