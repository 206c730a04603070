"""Traces, and their replay against schemes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Union

import numpy as np

from frostline import _native
from frostline._native import Error, Trace
from frostline.own import Scheme, Variant
from frostline.table import Results, Table

#: What stands for a scheme: its name with parameters, or one of one's own.
SchemeLike = str | Scheme | Variant

#: A file.
Path = Union[str, "os.PathLike[str]"]

#: The LBAs of page writes.
Pages = Union["np.ndarray[Any, Any]", Sequence[int]]

#: What stands for a trace: one that was opened, a file, or the LBAs of page writes.
TraceLike = Trace | Path | Pages


def open(  # noqa: A001 - as `frostline.open` it says what it does
    path: Path | Pages,
    *,
    format: str | None = None,
    volume: str | None = None,
    page: int | str = 4096,
    unit: int | str | None = None,
    preload: Path | Pages | None = None,
    times: bool = False,
    trims: bool = True,
    hotness: bool = True,
    lifespans: bool = True,
    name: str = "array",
) -> Trace:
    """Reads a trace of any format into memory: 8 bytes a page write, 4 without ``lifespans``.

    The format is found by content. ``volume`` is the only one to read, ``page`` the bytes of a
    page, ``unit`` those that libCacheSim's object numbers count. ``preload`` is replayed before
    and not counted. ``times`` are for ``semantics="sepbit-fast22"``, which knows no ``trims``;
    ``lifespans`` for oracles. An array of LBAs is a trace, too, called ``name``; it is copied
    once, since a replay marks in it the writes that live for ever.
    """
    if isinstance(path, (str, os.PathLike)):
        if not (preload is None or isinstance(preload, (str, os.PathLike))):
            raise TypeError("the preload of a file is a file")
        return Trace.open(
            os.fspath(path),
            format=format,
            volume=volume,
            page=page,
            unit=None if unit is None else _native.size(unit),
            preload=None if preload is None else os.fspath(preload),
            times=times,
            trims=trims,
            hotness=hotness,
            lifespans=lifespans,
        )
    before = None if preload is None else _lbas(preload)
    return Trace.of_pages(_lbas(path), page=page, preload=before, lifespans=lifespans, name=name)


def simulate(
    trace: TraceLike | Sequence[TraceLike],
    schemes: SchemeLike | Iterable[SchemeLike] = "all",
    *,
    victims: str | Iterable[str] | None = None,
    zone: int | str | Iterable[int | str] | None = None,
    gp: float | Iterable[float] | None = None,
    op: float | Iterable[float] | None = None,
    zones: int | None = None,
    free_zones: int = 2,
    max_open: int | None = None,
    semantics: str = "published",
    seed: int = 1,
    warmup: int = 0,
    window: int = 0,
    guess: bool = True,
    model: Path | None = None,
    gain: bool = True,
    timing: bool = True,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Results:
    """Replays a trace, or several, against schemes, each with each victim policy, on all cores.

    ``schemes`` and ``victims`` are names with parameters (``"dac:classes=4"``), or ``"all"``;
    schemes of one's own (:func:`frostline.scheme`) may be among them. Without ``victims`` each scheme
    has its default, as :func:`frostline.schemes` lists it.
    Cleaning runs above the garbage proportion ``gp`` (0.15 unless given; ``zones`` bounds the
    volume), or the capacity is fixed by the over-provisioning ``op``. ``zone`` is the size of a
    zone, as ``"4MiB"``; about 1/128 of the volume unless given. Of ``gp``, ``op`` and ``zone`` several
    may be given, and each has its runs. ``window`` reports every so many
    user writes. ``guess=False`` does not take successive pages of a trace without requests for one.
    ``model`` is a file that ``frostline train`` made, for schemes with ``recogniser=model``.
    ``progress`` shows a bar where ``tqdm`` is installed, or is called with user
    writes done and to do. Ctrl-C ends the replay.

    The results are those of ``frostline sim`` with the same options, to the last bit.
    """
    loaded = [_loaded(one, semantics) for one in _traces(trace)]
    keywords = {
        "zone": _several(zone),
        "gp": _several(gp),
        "op": _several(op),
        "zones": zones,
        "free_zones": free_zones,
        "max_open": max_open,
        "semantics": semantics,
        "seed": seed,
        "warmup": warmup,
        "window": window,
        "guess": guess,
        "model": None if model is None else os.fspath(model),
    }
    wanted = _schemes(schemes)
    own = list(dict.fromkeys(_own(one) for one in wanted if not isinstance(one, str)))
    with _told(progress) as tell, _raising(own):
        text = _native.simulate(
            loaded,
            [one if isinstance(one, str) else one.name for one in wanted],
            [] if victims is None else _names(victims),
            keywords,
            own=[one.native for one in own],
            gain=gain,
            timing=timing,
            threads=threads,
            progress=tell,
        )
    return Results(json.loads(text))


def generate(
    kind: str,
    *,
    pages: int,
    writes: int,
    alpha: float | None = None,
    fill: bool = False,
    seed: int = 1,
) -> np.ndarray[Any, Any]:
    """The LBAs of a synthetic trace: ``"zipf"``, ``"uniform"`` or ``"oltp"``, as `frostline gen`.

    With ``fill`` every page that exists at the start is written once, in order, before. Equal
    arguments give equal traces, for ever.
    """
    return _native.generate(kind, pages=pages, writes=writes, alpha=alpha, fill=fill, seed=seed)


def save(pages: Pages, path: Path, *, page: int | str = 4096) -> int:
    """Writes LBAs to a trace file: page numbers, compressed if its name ends in ``.zst``, or
    Parquet if in ``.parquet``. Returns how many were written."""
    return _native.save(_lbas(pages), os.fspath(path), page)


def trace_info(
    path: Path,
    *,
    format: str | None = None,
    volume: str | None = None,
    page: int | str = 4096,
    unit: int | str | None = None,
) -> dict[str, Any]:
    """What a trace file holds, as ``frostline trace info --json`` prints it."""
    unit = None if unit is None else _native.size(unit)
    text = _native.trace_info(os.fspath(path), format=format, volume=volume, page=page, unit=unit)
    info: dict[str, Any] = json.loads(text)
    return info


def schemes() -> Table:
    """All published schemes: name, classes, state a page, source, parameters."""
    return _listed("schemes")


def victims() -> Table:
    """All victim policies: name, source, parameters."""
    return _listed("victims")


def _listed(what: str) -> Table:
    rows = json.loads(_native.schemes())[what]
    for row in rows:
        row["params"] = ":".join(f"{param['key']}={param['default']}" for param in row["params"])
    return Table.of_rows(rows)


def _loaded(trace: TraceLike, semantics: str) -> Trace:
    if isinstance(trace, Trace):
        return trace
    authors = semantics == "sepbit-fast22" and isinstance(trace, (str, os.PathLike))
    return open(trace, times=authors, trims=not authors)


def _names(names: str | Iterable[str]) -> list[str]:
    return names.split(",") if isinstance(names, str) else list(names)


def _several(value: Any) -> list[Any]:
    """The values of a setting, of which there may be none, one or several."""
    if value is None:
        return []
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def _schemes(schemes: SchemeLike | Iterable[SchemeLike]) -> list[SchemeLike]:
    if isinstance(schemes, (str, Scheme, Variant)):
        schemes = _names(schemes) if isinstance(schemes, str) else [schemes]
    return list(schemes)


def _own(scheme: Scheme | Variant) -> Scheme:
    return scheme if isinstance(scheme, Scheme) else scheme.scheme


@contextmanager
def _raising(own: list[Scheme]) -> Iterator[None]:
    """Names the exception of a scheme's method, if it is known, as the cause of the replay's."""
    try:
        yield
    except Error as error:
        causes = [cause for cause in (scheme.take_raised() for scheme in own) if cause is not None]
        raise error from (causes[0] if causes else None)


def _traces(trace: Any) -> list[TraceLike]:
    """One trace or several: in a list, numbers are the pages of one."""
    if isinstance(trace, (list, tuple)) and trace and not isinstance(trace[0], (int, np.integer)):
        return list(trace)
    return [trace]


def _lbas(pages: Any) -> np.ndarray[Any, Any]:
    """LBAs as the module takes them; the array itself if it is one of them already."""
    array = np.asarray(pages)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError("a trace is a one-dimensional array of page numbers")
    if array.dtype != np.uint32 and len(array) and not (array.min() >= 0 and array.max() < 1 << 32):
        raise ValueError("page numbers are from 0 to 2^32 - 1")
    return np.ascontiguousarray(array, dtype=np.uint32)


@contextmanager
def _told(
    progress: bool | Callable[[int, int], None],
) -> Iterator[Callable[[int, int], None] | None]:
    """What is called with the user writes done and to do, if anything is."""
    if callable(progress) or not progress:
        yield progress if callable(progress) else None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with ExitStack() as stack:
        bar = stack.enter_context(tqdm(unit="writes", unit_scale=True, desc="replaying"))

        def tell(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        yield tell
