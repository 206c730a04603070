"""Frostline: placement schemes for log-structured storage.

Simulate how much a write trace costs on flash under every published placement scheme, or under
one of your own; keep pages and records in an embedded store and database that place by the same
schemes.

>>> import frostline as fl
>>> trace = fl.generate("zipf", pages=20_000, writes=200_000, fill=True)
>>> runs = fl.simulate(trace, schemes=["nosep", "sepbit"], gp=0.15)
>>> nosep, sepbit = runs["waf"].tolist()
>>> sepbit < nosep
True
"""

from frostline._native import (
    BackupFailed,
    Conflict,
    Damaged,
    DeviceFailed,
    Error,
    Full,
    InUse,
    NotFound,
    NotUsable,
    ReadOnly,
    Refused,
    TooOld,
    Trace,
    __version__,
)
from frostline.engines import Db, Store, TableSize, Tree
from frostline.own import Scheme, jit, scheme
from frostline.simulation import generate, open, save, schemes, simulate, trace_info, victims
from frostline.sweeping import Cell, sweep
from frostline.table import Results, Table
from frostline.transactions import Snapshot, Update, ValueWriter, View

__all__ = [
    "BackupFailed",
    "Cell",
    "Conflict",
    "Damaged",
    "Db",
    "DeviceFailed",
    "Error",
    "Full",
    "InUse",
    "NotFound",
    "NotUsable",
    "ReadOnly",
    "Refused",
    "Results",
    "Scheme",
    "Snapshot",
    "Store",
    "Table",
    "TableSize",
    "TooOld",
    "Trace",
    "Tree",
    "Update",
    "ValueWriter",
    "View",
    "__version__",
    "generate",
    "jit",
    "open",
    "save",
    "scheme",
    "schemes",
    "simulate",
    "sweep",
    "trace_info",
    "victims",
]
