from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

class Error(Exception):
    """Frostline can't do what it was asked."""

class Trace:
    """A write trace in memory, ready to be replayed. Made by :func:`frostline.open`."""

    @staticmethod
    def open(
        path: str,
        *,
        format: str | None = ...,
        volume: str | None = ...,
        page: int | str,
        unit: int | None = ...,
        preload: str | None = ...,
        times: bool,
        trims: bool,
        hotness: bool,
        lifespans: bool,
    ) -> Trace: ...
    @staticmethod
    def of_pages(
        pages: npt.NDArray[np.uint32],
        *,
        page: int | str,
        preload: npt.NDArray[np.uint32] | None = ...,
        lifespans: bool,
        name: str,
    ) -> Trace: ...
    @property
    def path(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def page_size(self) -> int: ...
    @property
    def volumes(self) -> list[str]: ...
    @property
    def user_writes(self) -> int: ...
    @property
    def unique_pages(self) -> int: ...
    def words(self, volume: str | None = ...) -> npt.NDArray[np.uint32]:
        """One entry a page write, the preload's first: the LBA, and the highest bit set if this
        version lives for ever. Read-only, and no copy."""
    def lifespans(self, volume: str | None = ...) -> npt.NDArray[np.uint32]:
        """User writes until each write's page is written again or trimmed, 2^32 - 1 if it never
        is. Read-only, and no copy."""
    def lbas(self, volume: str | None = ...) -> npt.NDArray[np.uint32]:
        """The LBA of each page write."""
    def __len__(self) -> int: ...

class OwnScheme:
    """A scheme of a program, given by the addresses of its functions."""

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        classes: int,
        params: list[tuple[str, str, bool]],
        memory_bytes: int,
        page_bytes: int,
        place_user: int,
        place_relocation: int,
        start: int | None = ...,
        on_sealed: int | None = ...,
        on_victim: int | None = ...,
        keep: Any,
    ) -> None: ...
    @property
    def name(self) -> str: ...

class Store:
    @staticmethod
    def open(
        path: str,
        *,
        size: int | str | None = ...,
        zone: int | str | None = ...,
        scheme: str,
        victim: str | None = ...,
        gp: float,
        unit: int | None = ...,
        pages: int | None = ...,
        thin: bool = ...,
        space: float | None = ...,
    ) -> Store: ...
    def write(self, lba: int, page: bytes) -> None: ...
    def write_many(self, lbas: npt.NDArray[np.uint32], pages: npt.NDArray[np.uint8]) -> None: ...
    def read(self, lba: int) -> bytes | None: ...
    def trim(self, lba: int) -> bool: ...
    def sync(self) -> None: ...
    def checkpoint(self) -> None: ...
    def stats(self) -> str: ...
    @property
    def pages(self) -> int: ...
    def close(self) -> None: ...

class Conflict(Error):
    """Another transaction, committed meanwhile, wrote the same key: try again."""

class TooOld(Error):
    """So much was overwritten since the transaction began that what it sees is no longer kept: begin it again."""

class ReadOnly(Error):
    """A snapshot, or a database that is open for reading only, was to be written."""

class Refused(Error):
    """The call can never succeed: a key, a value or a transaction is too large, or options contradict each other."""

class Full(Error):
    """All pages are in use: delete records, or move them to a database with a larger bound."""

class InUse(Error):
    """Another process, or this one, has the database or store open: close it there."""

class NotFound(Error, FileNotFoundError):
    """There is no file, directory or device of that name."""

class NotUsable(Error):
    """The file or device holds no database or store, or one of a newer version."""

class Damaged(Error):
    """Bytes on the device differ from what was written."""

class DeviceFailed(Error):
    """The device or the system failed. What was committed or synced before is safe."""

class BackupFailed(Error):
    """A backup could not be made or restored. The one before is as it was."""

class Tree: ...

class Retries:
    """The tries of one transaction, and the pauses between them."""

    def __init__(self) -> None: ...
    def pause(self) -> None: ...

class DbOptions:
    """Options of a database."""

    def __init__(
        self,
        *,
        memory: int | str,
        bound: int | str,
        log_bytes: int | str | None = ...,
        scheme: str | None = ...,
        victim: str | None = ...,
        unit: int | None = ...,
        gp: float | None = ...,
        space: float | None = ...,
        compression: str | None = ...,
        parity: int | None = ...,
        recovery_bytes: int | str | None = ...,
        version_bytes: int | str | None = ...,
        longest_logged_value: int | str | None = ...,
        fill: float | None = ...,
        serializable: bool,
        read_only: bool,
        create: bool,
        accept_loss: bool = ...,
    ) -> None: ...

class Db:
    @staticmethod
    def open(path: str | None, options: DbOptions) -> Db: ...
    def copy(self, path: str, options: DbOptions) -> int: ...
    def table(self, name: str) -> Tree: ...
    def tables(self) -> list[str]: ...
    def rename_table(self, name: str, to: str) -> None: ...
    def delete_table(self, name: str) -> None: ...
    def table_size(self, table: Tree) -> tuple[int, int, int]: ...
    def ingest(self, name: str, fill: float, records: Iterable[tuple[bytes, bytes]]) -> Tree: ...
    def begin(self, read_only: bool) -> Transaction: ...
    def delete_range(self, table: Tree, low: bytes | None, high: bytes | None) -> int: ...
    def sync(self) -> None: ...
    def back_up(self, target: str) -> int: ...
    @staticmethod
    def restore(backup: str, path: str) -> None: ...
    def close(self) -> None: ...

class Transaction:
    def get(self, table: Tree, key: bytes) -> bytes | None: ...
    def get_many(self, table: Tree, keys: list[bytes]) -> list[bytes | None]: ...
    def contains(self, table: Tree, key: bytes) -> bool: ...
    def len(self, table: Tree) -> int: ...
    def is_empty(self, table: Tree) -> bool: ...
    def put(self, table: Tree, key: bytes, value: bytes) -> None: ...
    def patch(self, table: Tree, key: bytes, at: int, bytes: bytes) -> None: ...
    def compare_and_set(
        self, table: Tree, key: bytes, expected: bytes | None, value: bytes | None
    ) -> bool: ...
    def delete(self, table: Tree, key: bytes) -> None: ...
    def delete_range(self, table: Tree, low: bytes | None, high: bytes | None) -> int: ...
    def pop(self, table: Tree, last: bool) -> tuple[bytes, bytes] | None: ...
    def scan(
        self,
        table: Tree,
        low: bytes | None,
        high: bytes | None,
        *,
        behind: bool,
        backward: bool,
        most: int,
    ) -> list[tuple[bytes, bytes]]: ...
    def begin_value(self) -> int: ...
    def append_value(self, number: int, bytes: bytes) -> None: ...
    def finish_value(self, number: int, table: Tree, key: bytes) -> None: ...
    def drop_value(self, number: int) -> None: ...
    def value_bytes(self, table: Tree, key: bytes) -> int | None: ...
    def read_value(self, table: Tree, key: bytes, at: int, most: int) -> bytes: ...
    def begin_savepoint(self) -> None: ...
    def end_savepoint(self, undo: bool) -> None: ...
    def commit(self, wait: bool) -> None: ...
    def rollback(self) -> None: ...

def simulate(
    traces: list[Trace],
    schemes: list[str],
    victims: list[str],
    keywords: dict[str, Any],
    *,
    own: list[OwnScheme],
    gain: bool,
    timing: bool,
    threads: int | None = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> str: ...
def generate(
    kind: str, *, pages: int, writes: int, alpha: float | None = ..., fill: bool, seed: int
) -> npt.NDArray[np.uint32]: ...
def save(pages: npt.NDArray[np.uint32], path: str, page: int | str) -> int: ...
def schemes() -> str: ...
def size(text: int | str) -> int: ...
def trace_info(
    path: str,
    *,
    format: str | None = ...,
    volume: str | None = ...,
    page: int | str,
    unit: int | None = ...,
) -> str: ...
