"""The page store and the database, embedded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np

from frostline import _native
from frostline._native import Conflict, Retries
from frostline.simulation import Path
from frostline.transactions import Mapping, Snapshot, Update

T = TypeVar("T")


class Store:
    """A crash-safe, log-structured store of pages of 4,096 bytes, by LBA.

    It is shared by threads. A write is atomic; after :meth:`sync` it survives any crash. A process that is
    forked while it is open can't use it: open it after the fork.

    >>> with Store.open("mem:", size="64MiB") as store:
    ...     store.write(7, bytes(4096))
    ...     store.sync()
    ...     store.read(8) is None
    True
    """

    def __init__(self, native: _native.Store) -> None:
        self._native = native

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        size: int | str | None = None,
        zone: int | str | None = None,
        scheme: str = "survival",
        victim: str | None = None,
        gp: float = 0.15,
        unit: int = 64,
        pages: int | None = None,
        thin: bool = False,
        space: float | None = None,
    ) -> Store:
        """Opens the store in a file, or on a device: ``mem:``, ``block:PATH``, ``dir:DIR``, ``zonefs:MOUNT``, ``zbd:/dev/...``.

        With ``size`` a store that is absent is made, of zones of ``zone`` bytes, placed by
        ``scheme``, cleaned above the garbage proportion ``gp`` by ``victim``, unless given the
        scheme's own, for ``pages`` pages or as many as that allows. A page takes as many units of ``unit`` bytes as it needs; with
        4096 pages are whole. A ``thin`` store takes twice as many pages, as long as they fit: a write
        that does not is refused. While it is open it is cleaned when its pages take more than ``space`` times
        what their images do, whatever ``gp`` is.
        """
        native = _native.Store.open(
            os.fspath(path),
            size=size,
            zone=zone,
            scheme=scheme,
            victim=victim,
            gp=gp,
            unit=unit,
            pages=pages,
            thin=thin,
            space=space,
        )
        return cls(native)

    def write(self, lba: int, page: bytes) -> None:
        """Writes a page."""
        self._native.write(lba, page)

    def write_many(self, lbas: np.ndarray[Any, Any], pages: np.ndarray[Any, Any]) -> None:
        """Writes pages in order, quicker than one by one: an array of LBAs, and one of bytes with a
        page a row. Each is atomic, not all together."""
        lbas = np.ascontiguousarray(lbas, dtype=np.uint32)
        self._native.write_many(lbas, np.ascontiguousarray(pages, dtype=np.uint8))

    def read(self, lba: int) -> bytes | None:
        """A page; none if it was never written or was trimmed."""
        return self._native.read(lba)

    def trim(self, lba: int) -> bool:
        """Forgets a page; true if there was one."""
        return self._native.trim(lba)

    def sync(self) -> None:
        """Makes everything that was written or trimmed before durable."""
        self._native.sync()

    def checkpoint(self) -> None:
        """Writes a checkpoint, so that the next opening is quick."""
        self._native.checkpoint()

    def stats(self) -> dict[str, Any]:
        """Counts since it was opened, as a run of ``frostline bench store`` has them, and what it holds. The
        WAF includes headers and checkpoints."""
        stats: dict[str, Any] = json.loads(self._native.stats())
        return stats

    @property
    def pages(self) -> int:
        """Pages that the store can hold: LBAs are below this."""
        return self._native.pages

    def close(self) -> None:
        """Writes a checkpoint and ends the store. One that is not closed is as after a crash."""
        self._native.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Tree(Mapping):
    """A table of a database, ordered by key. As a mapping each access is a transaction of its own, and each write
    is durable when it returns; what belongs together belongs into :meth:`Db.update`.

    A range or an iteration reads the snapshot that it began with, which is open until it ends.

    >>> import frostline as fl
    >>> with fl.Db.open() as db:
    ...     items = db.table("items")
    ...     items[b"a"], items[b"b"] = b"hello", b"world"
    ...     (items[b"a"], b"c" in items, len(items), list(items[b"b":]))
    (b'hello', False, 2, [(b'b', b'world')])
    """

    def __init__(self, db: Db, native: _native.Tree) -> None:
        self._db = db
        self._native = native

    def _read(self) -> AbstractContextManager[Snapshot]:
        return self._db.read()

    def _write(self, body: Callable[[Update], T]) -> T:
        return self._db.update(body)

    def _delete_range(self, low: bytes | None, high: bytes | None) -> int:
        return self._db.delete_range(self, low, high)


class TableSize(NamedTuple):
    """The size of a table."""

    #: Pages of 4,096 bytes, exact; long values come on top.
    pages: int
    #: Records, and bytes of their keys and values: estimated.
    records: int
    bytes: int


class Db:
    """An ordered, transactional key-value database.

    It is shared by threads. A process that is forked while it is open can't use it: open it after the fork.

    >>> with Db.open() as db:
    ...     items = db.table("items")
    ...     with db.transaction() as tx:
    ...         tx.put(items, b"a", b"hello")
    ...     with db.read() as look:
    ...         look.get(items, b"a")
    b'hello'
    """

    def __init__(self, native: _native.Db) -> None:
        self._native = native

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        memory: int | str = "64MiB",
        bound: int | str = "16GiB",
        log_bytes: int | str | None = None,
        scheme: str | None = None,
        victim: str | None = None,
        unit: int = 64,
        gp: float | None = None,
        space: float | None = None,
        compression: str | None = None,
        parity: int | None = None,
        recovery_bytes: int | str | None = None,
        version_bytes: int | str | None = None,
        longest_logged_value: int | str | None = None,
        fill: float | None = None,
        serializable: bool = False,
        read_only: bool = False,
        create: bool = True,
        accept_loss: bool = False,
    ) -> Db:
        """Opens the database in a file, and makes it if it is absent and ``create`` is set;
        without a file, one in memory that ends with it.

        ``memory`` is for pages; ``bound`` is what a database that is made may take on its device,
        and ``scheme`` and ``victim`` place and clean its pages. A changed page takes as many units
        of ``unit`` bytes as what changed needs; with 4096 pages are written whole. ``log_bytes`` of
        the bound are for its log, a sixteenth and at most 1 GiB unless given: a transaction has to fit
        into a twentieth of that if it adds records, into a quarter if it overwrites and deletes. Above
        the garbage proportion ``gp`` it is cleaned; or, from this opening on, while its pages take more than
        ``space`` times what their data take. With ``parity=n`` a zone of each n + 1 holds parity.

        Pages are compressed from now on as ``compression`` says: ``"lz4"`` unless given, ``"zstd"`` or ``"none"``; the
        log with zstd unless that is ``"none"``. A value above ``longest_logged_value``, 256 KiB unless given, does
        not go through the log. Records in ascending order ``fill`` a share of a page from now on, 0.9 unless given:
        the rest is for records that come between them later.

        An opening after a crash redoes ``recovery_bytes`` of the log at most after usual loads, as many as there is
        ``memory`` unless given: fewer make it quicker and write more. Snapshots see older versions of records as long as
        these take no more than ``version_bytes`` of memory, half of ``memory`` and 16 MiB at least unless given; then
        the oldest raises :class:`TooOld`.

        ``serializable`` transactions also conflict if another changed what they read. ``read_only`` changes
        nothing on the device, and several processes may do so at once: writes raise :class:`ReadOnly`.
        A database that lacks synced pages, because its file was cut or can't be read, raises :class:`Damaged`; with
        ``accept_loss`` it is opened if it can do without them, and they are lost for good.
        """
        where = None if path is None else os.fspath(path)
        options = _native.DbOptions(
            memory=memory,
            bound=bound,
            log_bytes=log_bytes,
            scheme=scheme,
            victim=victim,
            unit=unit,
            gp=gp,
            space=space,
            compression=compression,
            parity=parity,
            recovery_bytes=recovery_bytes,
            version_bytes=version_bytes,
            longest_logged_value=longest_logged_value,
            fill=fill,
            serializable=serializable,
            read_only=read_only,
            create=create,
            accept_loss=accept_loss,
        )
        native = _native.Db.open(where, options)
        return cls(native)

    def table(self, name: str) -> Tree:
        """The table of this name, made if it is absent. Neither another database takes it, nor this one once
        it was opened again."""
        return Tree(self, self._native.table(name))

    def tables(self) -> list[str]:
        """The names of all tables."""
        return self._native.tables()

    def table_size(self, table: Tree) -> TableSize:
        """Pages of a table, and about how many records and bytes it has, without reading all of it."""
        return TableSize(*self._native.table_size(table._native))

    def rename_table(self, name: str, to: str) -> None:
        """Gives a table another name. What :meth:`table` returned stays valid."""
        self._native.rename_table(name, to)

    def delete_table(self, name: str) -> None:
        """Deletes a table and all its records, however many, in a short commit."""
        self._native.delete_table(name)

    def ingest(
        self, name: str, records: Iterable[tuple[bytes, bytes]], *, fill: float = 0.9
    ) -> Tree:
        """Makes a table of pairs of keys and values in the order of the keys, quicker than puts, with pages that are full
        to a share. It is there when it is whole."""
        return Tree(self, self._native.ingest(name, fill, records))

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """A snapshot of what is committed now; later commits do not change it."""
        native = self._native.begin(True)
        try:
            yield Snapshot(native)
        finally:
            native.rollback()

    @contextmanager
    def transaction(self) -> Iterator[Update]:
        """A transaction that is committed at the end, durable, and writes nothing if an exception
        leaves it. :class:`Conflict` if another one that wrote the same key was quicker."""
        with self._transaction(wait=True) as update:
            yield update

    @contextmanager
    def _transaction(self, *, wait: bool) -> Iterator[Update]:
        native = self._native.begin(False)
        try:
            yield Update(native)
            native.commit(wait)
        finally:
            native.rollback()

    def update(self, body: Callable[[Update], T], *, durable: bool = True) -> T:
        """Runs a function in a transaction, again if it conflicts with another, and returns what it
        returned once its writes survive any crash. :class:`Conflict` after 1,000 tries. If it need not be
        ``durable`` when this returns, it is so some milliseconds later, and after :meth:`sync`."""
        retries = Retries()
        while True:
            try:
                with self._transaction(wait=durable) as tx:
                    return body(tx)
            except Conflict:
                retries.pause()

    def sync(self) -> None:
        """Waits until everything that is committed survives any crash."""
        self._native.sync()

    def delete_range(self, table: Mapping, low: bytes | None = None, high: bytes | None = None) -> int:
        """Deletes the records with keys from ``low`` to below ``high`` in small transactions, so that there may be any
        number, and returns how many. :meth:`Update.delete_range` is one transaction."""
        return self._native.delete_range(table._native, low, high)

    def copy(
        self,
        path: Path,
        *,
        bound: int | str = "16GiB",
        log_bytes: int | str | None = None,
        scheme: str | None = None,
        victim: str | None = None,
        unit: int = 64,
        gp: float | None = None,
        compression: str | None = None,
        parity: int | None = None,
    ) -> int:
        """Copies all tables, as they are now, to a new database at ``path`` that is made with other options, and
        returns the number of records. The database may be used meanwhile."""
        options = _native.DbOptions(
            memory="64MiB",
            bound=bound,
            log_bytes=log_bytes,
            scheme=scheme,
            victim=victim,
            unit=unit,
            gp=gp,
            compression=compression,
            parity=parity,
            serializable=False,
            read_only=False,
            create=True,
        )
        return self._native.copy(os.fspath(path), options)

    def back_up(self, target: Path) -> int:
        """Copies the database to a directory while it is in use, and returns the bytes that were copied: a later
        backup to the same place copies only what is new."""
        return self._native.back_up(os.fspath(target))

    @staticmethod
    def restore(backup: Path, path: Path) -> None:
        """Makes a database at ``path`` of a backup."""
        _native.Db.restore(os.fspath(backup), os.fspath(path))

    def close(self) -> None:
        """Writes everything that changed, so that the next opening has nothing to recover."""
        self._native.close()

    def __enter__(self) -> Db:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
