"""Tables of a database as mappings: ``table[b"key"]``, ``in``, slices, ``items()``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from frostline import _native

if TYPE_CHECKING:
    from frostline.engines import Db, Snapshot, Update

T = TypeVar("T")

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


class View(Mapping):
    """A table as a transaction sees it: ``tx[table]``."""

    def __init__(self, transaction: Snapshot, table: Mapping) -> None:
        self._transaction = transaction
        self._native = table._native

    def _read(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self._transaction)

    def _write(self, body: Callable[[Update], T]) -> T:
        from frostline.engines import Update

        if not isinstance(self._transaction, Update):
            raise _native.ReadOnly("a snapshot can't be written")
        return body(self._transaction)
