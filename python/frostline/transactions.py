"""Transactions of a database, and its tables as mappings: ``tx[table][b"key"]``, ``in``, slices, ``items()``."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

from frostline import _native

T = TypeVar("T")

#: Records that are fetched at once.
_FETCHED = 256

#: Records of a range.
Records = Iterator[tuple[bytes, bytes]]


class Mapping(MutableMapping[bytes, bytes]):
    """What tables and views have in common: a way to read and a way to write."""

    _native: _native.Tree

    def _read(self) -> AbstractContextManager[Snapshot]:
        raise NotImplementedError

    def _write(self, body: Callable[[Update], T]) -> T:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        """The value of a key; of a slice, the records with keys from its start to below its stop,
        backward if its step is -1."""
        if isinstance(key, slice):
            return self._range(key)
        with self._read() as look:
            value = look.get(self, key)
        if value is None:
            raise KeyError(key)
        return value

    def _range(self, keys: slice) -> Records:
        if keys.step not in (None, 1, -1):
            raise ValueError("the step of a range of keys is 1 or -1")
        return self._records(keys.start, keys.stop, backward=keys.step == -1)

    def _records(self, low: bytes | None, high: bytes | None, *, backward: bool = False) -> Records:
        with self._read() as look:
            yield from look.range(self, low, high, backward=backward)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._write(lambda tx: tx.put(self, key, value))

    def __delitem__(self, key: Any) -> None:
        if isinstance(key, slice):
            self._delete_range(key.start, key.stop)
        else:
            self.pop(key)

    def _delete_range(self, low: bytes | None, high: bytes | None) -> int:
        return self._write(lambda tx: tx.delete_range(self, low, high))

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, bytes):
            return False
        with self._read() as look:
            return look.contains(self, key)

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self._records(None, None))

    def __reversed__(self) -> Iterator[bytes]:
        return (key for key, _ in self._records(None, None, backward=True))

    def __len__(self) -> int:
        with self._read() as look:
            return look.len(self)

    def __bool__(self) -> bool:
        with self._read() as look:
            return not look.is_empty(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def clear(self) -> None:
        """Deletes all records."""
        self._delete_range(None, None)

    def pop(self, key: bytes, *default: Any) -> Any:
        """Removes a key, and returns its value; if it is absent, the default, or there is a KeyError."""

        def take(tx: Update) -> bytes | None:
            value = tx.get(self, key)
            tx.delete(self, key)
            return value

        value = self._write(take)
        if value is not None:
            return value
        if default:
            return default[0]
        raise KeyError(key)

    def popitem(self) -> tuple[bytes, bytes]:
        """Removes the last record, and returns its key and its value."""
        record = self._write(lambda tx: tx.pop_last(self))
        if record is None:
            raise KeyError("the table is empty")
        return record

    def setdefault(self, key: bytes, default: bytes = b"") -> bytes:
        """The value of a key, which is set to the default if it has none."""

        def look_or_put(tx: Update) -> bytes:
            value = tx.get(self, key)
            if value is None:
                tx.put(self, key, default)
                return default
            return value

        return self._write(look_or_put)

    def update(self, *others: Any, **none: bytes) -> None:
        """Sets the records of a mapping, or of pairs, all in one transaction."""
        if none:
            raise TypeError("keys are bytes, so they can't be keywords")
        records = [record for other in others for record in dict(other).items()]

        def put_all(tx: Update) -> None:
            for key, value in records:
                tx.put(self, key, value)

        self._write(put_all)


#: Bytes of a long value that are read or written at once.
_PART = 1 << 20


class Readable(Protocol):
    """What a value may come from: a file that is open for reading bytes."""

    def read(self, size: int, /) -> bytes: ...


class ValueReader(io.RawIOBase):
    """The value of a key, read a part at a time."""

    def __init__(self, native: _native.Transaction, table: Mapping, key: bytes, size: int) -> None:
        self._native, self._table, self._key = native, table._native, key
        self._size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        part = self._native.read_value(self._table, self._key, self._at, min(len(view), _PART))
        view[: len(part)] = part
        self._at += len(part)
        return len(part)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begins = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if begins + offset < 0:
            raise ValueError("a place before the value")
        self._at = begins + offset
        return self._at

    def tell(self) -> int:
        return self._at


class ValueWriter:
    """Writes the value of a key, a part at a time: the key has it at the end of a ``with``, or once :meth:`finish`
    returns. An exception that leaves the ``with`` changes nothing."""

    def __init__(self, native: _native.Transaction, table: Mapping, key: bytes) -> None:
        self._native, self._table, self._key = native, table._native, key
        self._number = native.begin_value()

    def write(self, part: bytes | bytearray | memoryview) -> int:
        """Appends bytes; how many."""
        view = memoryview(part).cast("B")
        for at in range(0, len(view), _PART):
            self._native.append_value(self._number, bytes(view[at : at + _PART]))
        return len(view)

    def finish(self) -> None:
        """Sets the value of the key to what was written."""
        self._native.finish_value(self._number, self._table, self._key)

    def __enter__(self) -> ValueWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.finish()
        else:
            self._native.drop_value(self._number)


class Snapshot:
    """A state of a database. ``look[table]`` is the table in that state, as a mapping."""

    def __init__(self, native: _native.Transaction) -> None:
        self._native = native

    def __getitem__(self, table: Mapping) -> View:
        return View(self, table)

    def get(self, table: Mapping, key: bytes) -> bytes | None:
        """The value of a key; none if it is absent."""
        return self._native.get(table._native, key)

    def get_many(self, table: Mapping, keys: Iterable[bytes]) -> list[bytes | None]:
        """The values of keys; none for those that are absent."""
        return self._native.get_many(table._native, list(keys))

    def value_reader(self, table: Mapping, key: bytes) -> io.BufferedReader | None:
        """The value of a key as a file that can be read and sought in, for values that are too long for memory;
        none if it is absent. It is read while the snapshot is open."""
        size = self._native.value_bytes(table._native, key)
        if size is None:
            return None
        return io.BufferedReader(ValueReader(self._native, table, key, size), _PART)

    def contains(self, table: Mapping, key: bytes) -> bool:
        """True if the key has a value."""
        return self._native.contains(table._native, key)

    def first(self, table: Mapping) -> tuple[bytes, bytes] | None:
        """The first key and its value; none if there is no record."""
        return next(iter(self._scan(table, None, None, behind=False, backward=False, most=1)), None)

    def last(self, table: Mapping) -> tuple[bytes, bytes] | None:
        """The last key and its value; none if there is no record."""
        return next(iter(self._scan(table, None, None, behind=False, backward=True, most=1)), None)

    def len(self, table: Mapping) -> int:
        """The number of records, which are counted."""
        return self._native.len(table._native)

    def is_empty(self, table: Mapping) -> bool:
        """True if the table has no record."""
        return self._native.is_empty(table._native)

    def _scan(
        self,
        table: Mapping,
        low: bytes | None,
        high: bytes | None,
        *,
        behind: bool,
        backward: bool,
        most: int = _FETCHED,
    ) -> list[tuple[bytes, bytes]]:
        return self._native.scan(
            table._native, low, high, behind=behind, backward=backward, most=most
        )

    def range(
        self,
        table: Mapping,
        low: bytes | None = None,
        high: bytes | None = None,
        *,
        backward: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        """The records with keys from ``low`` to below ``high``, by key."""
        behind = False
        while True:
            records = self._scan(table, low, high, behind=behind, backward=backward)
            yield from records
            if len(records) < _FETCHED:
                return
            if backward:
                high = records[-1][0]
            else:
                low, behind = records[-1][0], True

    def prefix(self, table: Mapping, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The records whose keys begin with a prefix, by key."""
        for key, value in self.range(table, prefix):
            if not key.startswith(prefix):
                return
            yield key, value


class Update(Snapshot):
    """A transaction that writes: it reads as a snapshot does, and its own writes besides."""

    def put(self, table: Mapping, key: bytes, value: bytes) -> None:
        """Sets the value of a key."""
        self._native.put(table._native, key, value)

    def put_from(self, table: Mapping, key: bytes, source: Readable) -> int:
        """Sets the value of a key to what a file gives up to its end, and returns how many bytes that is: up to
        1 GiB, a part at a time."""
        size = 0
        with self.value_writer(table, key) as writer:
            while part := source.read(_PART):
                size += writer.write(part)
        return size

    def value_writer(self, table: Mapping, key: bytes) -> ValueWriter:
        """A writer of the value of a key, for values that are too long for memory."""
        return ValueWriter(self._native, table, key)

    def patch(self, table: Mapping, key: bytes, at: int, value: bytes) -> None:
        """Overwrites bytes of the value of a key from ``at``, as far as it goes; nothing if there is none."""
        self._native.patch(table._native, key, at, value)

    def compare_and_set(
        self, table: Mapping, key: bytes, expected: bytes | None, value: bytes | None
    ) -> bool:
        """Sets the value of a key, or deletes it, if it has the expected one, or none; false if not."""
        return self._native.compare_and_set(table._native, key, expected, value)

    def delete(self, table: Mapping, key: bytes) -> None:
        """Removes a key and its value, if they are there."""
        self._native.delete(table._native, key)

    def delete_range(self, table: Mapping, low: bytes | None = None, high: bytes | None = None) -> int:
        """Deletes the records with keys from ``low`` to below ``high``, and returns how many."""
        return self._native.delete_range(table._native, low, high)

    def pop_first(self, table: Mapping) -> tuple[bytes, bytes] | None:
        """Removes the first record, and returns its key and its value."""
        return self._native.pop(table._native, False)

    def pop_last(self, table: Mapping) -> tuple[bytes, bytes] | None:
        """Removes the last record, and returns its key and its value."""
        return self._native.pop(table._native, True)

    @contextmanager
    def savepoint(self) -> Iterator[Update]:
        """Undoes what was written within it if an exception leaves it; what was written before stays."""
        self._native.begin_savepoint()
        try:
            yield self
        except BaseException:
            self._native.end_savepoint(True)
            raise
        self._native.end_savepoint(False)


class View(Mapping):
    """A table as a transaction sees it: ``tx[table]``."""

    def __init__(self, transaction: Snapshot, table: Mapping) -> None:
        self._transaction = transaction
        self._native = table._native

    def _read(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self._transaction)

    def _write(self, body: Callable[[Update], T]) -> T:
        if not isinstance(self._transaction, Update):
            raise _native.ReadOnly("a snapshot can't be written")
        return body(self._transaction)
