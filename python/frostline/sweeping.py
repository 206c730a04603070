"""Sweeps over many traces and schemes, by any executor, that can be interrupted and resumed."""

from __future__ import annotations

import hashlib
import json
import os
import queue
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from frostline import _native
from frostline.simulation import Pages, _lbas, _names, simulate
from frostline.simulation import Path as PathLike
from frostline.simulation import open as open_trace
from frostline.table import Table

#: Memory that a replay takes for each page write of its trace, about: words, lifespans, map.
_BYTES_PER_WRITE = 16


class Cell:
    """One run of a sweep: a trace, a scheme and a victim policy."""

    def __init__(
        self,
        trace: str | np.ndarray[Any, Any],
        digest: str,
        scheme: str,
        victim: str | None,
        settings: Mapping[str, Any],
    ) -> None:
        #: Path of the trace, or its LBAs.
        self.trace = trace
        #: SHA-256 of the trace's bytes.
        self.digest = digest
        self.scheme = scheme
        #: None for the scheme's default.
        self.victim = victim
        self.settings = dict(settings)

    @property
    def key(self) -> str:
        """SHA-256 of all that the result depends on."""
        parts = [_native.__version__, self.digest, self.scheme, self.victim, self.settings]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def bytes(self) -> int:
        """Memory that the run takes, about, of a trace of page numbers."""
        if isinstance(self.trace, str):
            stored = os.path.getsize(self.trace)
            # Page numbers compressed by zstd take two to three bytes.
            return stored * _BYTES_PER_WRITE // (4 if self.trace.endswith(".u32") else 2)
        return len(self.trace) * _BYTES_PER_WRITE


def sweep(
    traces: Any,
    schemes: str | Iterable[str],
    *,
    victims: str | Iterable[str] | None = None,
    executor: Any = None,
    manifest: PathLike | None = None,
    submit: Callable[[Cell], Mapping[str, Any]] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> Table:
    """Replays every trace with every scheme and victim policy, a future a cell, largest traces first.
    Without ``victims`` each scheme has its default.

    ``executor`` is anything with ``submit(function, *arguments)`` that returns futures, as those of
    ``concurrent.futures`` or a client of Dask ``distributed``; threads, one a core, unless given.
    ``submit`` gives further keywords for it by cell: ``lambda cell: {"resources": {"MEMORY":
    cell.bytes}}``. Traces are paths, which the workers must be able to read, or arrays; or a
    dictionary of names to these. ``settings`` are those of :func:`frostline.simulate`.

    ``manifest`` is a file that each finished cell is appended to, a line each. A sweep that finds
    cells there does not run them again: a cell is known by the content of its trace, scheme,
    victim policy, settings and version. Manifests can be joined by ``cat``.

    The table has a row for each trace, scheme and victim policy in this order, whatever ran where
    and when, and nothing of how long it took: equal sweeps give equal tables. It has no gains.
    """
    named = _named(traces)
    policies: list[str | None] = [None] if victims is None else list(_names(victims))
    names = _names(schemes)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("a sweep takes schemes by their names: workers have no others")
    cells = {
        (name, scheme, victim): Cell(trace, digest, scheme, victim, settings)
        for name, (trace, digest) in named.items()
        for scheme in names
        for victim in policies
    }
    finished = _read(manifest)
    runs: dict[str, list[dict[str, Any]]] = {}
    waiting: dict[str, Cell] = {}
    for cell in cells.values():
        if cell.key in finished:
            runs[cell.key] = finished[cell.key]
        else:
            waiting[cell.key] = cell
    told = progress or (lambda done, of: None)
    of = len(runs) + len(waiting)
    told(len(runs), of)
    own = ThreadPoolExecutor(os.cpu_count()) if executor is None else None
    try:
        for cell, result in _run(executor or own, list(waiting.values()), submit):
            runs[cell.key] = result
            _append(manifest, cell, result)
            told(len(runs), of)
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)
    return Table.of_rows(
        [{"trace": name, **_row(run)} for (name, _, _), cell in cells.items() for run in runs[cell.key]]
    )


def _run(executor: Any, cells: list[Cell], submit: Any) -> Iterable[tuple[Cell, list[dict[str, Any]]]]:
    """The results of cells as they come, the largest submitted first."""
    done: queue.SimpleQueue[tuple[Cell, Any]] = queue.SimpleQueue()
    futures = []
    cells = sorted(cells, key=lambda cell: cell.bytes, reverse=True)
    try:
        for cell in cells:
            keywords = submit(cell) if submit else {}
            arguments = (cell.trace, cell.digest, cell.scheme, cell.victim, cell.settings)
            future = executor.submit(_replay, *arguments, **keywords)
            future.add_done_callback(lambda future, cell=cell: done.put((cell, future)))
            futures.append(future)
        for _ in cells:
            cell, future = done.get()
            yield cell, future.result()
    finally:
        for future in futures:
            future.cancel()


def _replay(
    trace: str | np.ndarray[Any, Any],
    digest: str,
    scheme: str,
    victim: str | None,
    settings: dict[str, Any],
) -> list[dict[str, Any]]:
    """A cell's runs, by volume if the trace has several. Runs where the executor has it run."""
    authors = settings.get("semantics") == "sepbit-fast22"
    loaded = _load(trace, digest, authors) if isinstance(trace, str) else open_trace(trace)
    victims = None if victim is None else [victim]
    runs = simulate(loaded, [scheme], victims=victims, gain=False, timing=False, threads=1, **settings)
    rows: list[dict[str, Any]] = runs.report["runs"]
    return rows


@lru_cache(maxsize=1)
def _load(path: str, digest: str, authors: bool) -> _native.Trace:
    """A trace that the next cell probably wants as well."""
    if _digest_of_file(path) != digest:
        raise _native.Error(f"{path}: its content here is not what the sweep was asked for")
    return open_trace(path, times=authors, trims=not authors)


def _named(traces: Any) -> dict[str, tuple[str | np.ndarray[Any, Any], str]]:
    if isinstance(traces, (str, os.PathLike, np.ndarray)):
        traces = [traces]
    if not isinstance(traces, Mapping):
        names = [
            os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else f"array {number}"
            for number, trace in enumerate(traces)
        ]
        if len(set(names)) < len(names):
            raise ValueError("a trace is given twice")
        traces = dict(zip(names, traces, strict=True))
    return {name: _digested(trace) for name, trace in traces.items()}


def _digested(trace: PathLike | Pages) -> tuple[str | np.ndarray[Any, Any], str]:
    if isinstance(trace, (str, os.PathLike)):
        path = os.path.abspath(trace)
        return path, _digest_of_file(path)
    pages = _lbas(trace)
    return pages, hashlib.sha256(pages.tobytes()).hexdigest()


def _digest_of_file(path: str) -> str:
    with Path(path).open("rb") as file:
        if hasattr(hashlib, "file_digest"):
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()


def _read(manifest: PathLike | None) -> dict[str, list[dict[str, Any]]]:
    """The finished cells of a manifest. A last line that an interruption cut is as if not there."""
    if manifest is None or not Path(manifest).exists():
        return {}
    finished = {}
    for line in Path(manifest).read_text().splitlines():
        try:
            entry = json.loads(line)
            finished[entry["cell"]] = entry["runs"]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return finished


def _append(manifest: PathLike | None, cell: Cell, runs: list[dict[str, Any]]) -> None:
    if manifest is None:
        return
    entry = {
        "cell": cell.key,
        "trace": cell.trace if isinstance(cell.trace, str) else "array",
        "sha256": cell.digest,
        "scheme": cell.scheme,
        "victim": cell.victim,
        "settings": cell.settings,
        "runs": runs,
    }
    # A line that was cut must not swallow this one: each begins on a line of its own.
    with Path(manifest).open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(entry).encode() + b"\n")


def _row(run: Mapping[str, Any]) -> dict[str, Any]:
    from frostline.table import _flat

    row = _flat(run)
    for timed in ("seconds", "writes_per_second", "gain"):
        row.pop(timed, None)
    return row
