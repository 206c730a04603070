"""Placement schemes written in Python.

A class with :func:`scheme` before it becomes a scheme. Where Numba is installed its methods are
compiled and called by the simulator through their addresses, without Python; elsewhere they run
as they are, some hundred times slower, with the same result.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np

from frostline._native import OwnScheme

try:
    import numba
except ImportError:
    numba = None  # type: ignore[assignment]

_TYPES = {
    "i1": ctypes.c_int8,
    "i2": ctypes.c_int16,
    "i4": ctypes.c_int32,
    "i8": ctypes.c_int64,
    "u1": ctypes.c_uint8,
    "u2": ctypes.c_uint16,
    "u4": ctypes.c_uint32,
    "f4": ctypes.c_float,
    "f8": ctypes.c_double,
}


def _events(name: str, *fields: str) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": [(field, ctypes.c_int64) for field in fields]})


_Write = _events("Write", "lba", "now", "first", "class_", "zone", "offset", "valid")
_Move = _events("Move", "lba", "now", "class_", "zone")
_Zone = _events("Zone", "zone", "now", "class_", "opened_at", "sealed_at", "garbage", "valid", "pages")
_Volume = _events("Volume", "zone_pages", "page_bytes", "space", "seed")

#: The answer of a method that raised an exception.
_RAISED = -(2**63)

#: The methods of a scheme: the event that each is told, and whether it has the page's state.
_METHODS = {
    "place_user": (_Write, True),
    "place_relocation": (_Move, True),
    "start": (_Volume, False),
    "on_sealed": (_Zone, False),
    "on_victim": (_Zone, False),
}


def jit(function: Callable[..., Any]) -> Any:
    """Compiles a function that methods of schemes call, where Numba is installed."""
    compiler: Any = numba
    return compiler.njit(function) if compiler else function


class Scheme:
    """A scheme of one's own, for the list of schemes of :func:`frostline.simulate`.

    Called with parameters it is the same scheme with others than the defaults.
    """

    def __init__(self, made: Any, name: str, compiled: bool | None) -> None:
        if compiled and numba is None:
            raise ImportError("a compiled scheme needs Numba")
        self.__doc__ = made.__doc__
        self.name = name
        #: True if its methods are compiled.
        self.compiled = numba is not None if compiled is None else compiled
        self._made = made
        self._raised: list[BaseException] = []
        self._native: OwnScheme | None = None

    def __call__(self, **params: int | float) -> Variant:
        return Variant(self, ":".join([self.name, *(f"{key}={value}" for key, value in params.items())]))

    def __repr__(self) -> str:
        return f"<frostline scheme {self.name}>"

    @property
    def native(self) -> OwnScheme:
        """The scheme as the simulator calls it, compiled when it is first needed."""
        if self._native is None:
            self._native = self._build()
        return self._native

    def take_raised(self) -> BaseException | None:
        """The first exception of a method since it was last asked, if it is known."""
        raised, self._raised[:] = self._raised[:1], []
        return raised[0] if raised else None

    def _build(self) -> OwnScheme:
        made, name = self._made, self.name
        params = dict(getattr(made, "params", {}))
        memory = {key: "f8" if isinstance(value, float) else "i8" for key, value in params.items()}
        state = _structure("State", {**memory, **getattr(made, "state", {})})
        page = _structure("Page", getattr(made, "page", {}))
        bind = self._compile if self.compiled else self._wrap
        functions: dict[str, Any] = {}
        for method, (event, has_page) in _METHODS.items():
            written = made.__dict__.get(method)
            if written is not None:
                types = [state, event, *([page] if has_page else [])]
                _check_fields(f"{name}.{method}", written, types)
                functions[method] = bind(written, types)
        missing = {"place_user", "place_relocation"} - functions.keys()
        if missing:
            raise TypeError(f"{name} has no {' and no '.join(sorted(missing))}")
        addresses: dict[str, Any] = {method: _address(of) for method, of in functions.items()}
        summary = (inspect.getdoc(made) or "").split("\n")[0]
        return OwnScheme(
            name,
            summary,
            classes=made.classes,
            params=[(key, str(value), isinstance(value, float)) for key, value in params.items()],
            memory_bytes=ctypes.sizeof(state),
            page_bytes=ctypes.sizeof(page),
            keep=functions,
            **addresses,
        )

    def _wrap(self, method: Callable[..., Any], types: list[type[ctypes.Structure]]) -> Any:
        """The method as a function that can be called through its address; it runs in Python."""

        def call(*pointers: Any) -> int:
            try:
                return int(method(*(pointer.contents for pointer in pointers)) or 0)
            except BaseException as error:
                self._raised.append(error)
                return _RAISED

        return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.POINTER(of) for of in types))(call)

    def _compile(self, method: Any, types: list[type[ctypes.Structure]]) -> Any:
        """The method as machine code."""
        compiler: Any = numba
        carray, int64, inner = compiler.carray, compiler.int64, compiler.njit(method)
        pointers = [compiler.types.CPointer(compiler.from_dtype(np.dtype(of))) for of in types]

        def place(state: Any, event: Any, page: Any) -> Any:
            try:
                return int64(inner(carray(state, 1)[0], carray(event, 1)[0], carray(page, 1)[0]))
            except Exception:
                return int64(_RAISED)

        def tell(state: Any, event: Any) -> Any:
            try:
                inner(carray(state, 1)[0], carray(event, 1)[0])
                return int64(0)
            except Exception:
                return int64(_RAISED)

        try:
            return compiler.cfunc(int64(*pointers))(place if len(types) == 3 else tell)
        except KeyError as error:
            # Of a function that the method calls: Numba names no place.
            known = "; ".join(_known(of) for of in types)
            why = f"{self.name}: no argument of {method.__name__} has a field {error} (known: {known})"
            raise AttributeError(why) from error


def _address(function: Any) -> int:
    """The address of a function that Numba or ctypes has made."""
    if hasattr(function, "address"):
        return int(function.address)
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class Variant:
    """A scheme of one's own with parameters."""

    def __init__(self, scheme: Scheme, name: str) -> None:
        self.scheme, self.name = scheme, name

    def __repr__(self) -> str:
        return f"<frostline scheme {self.name}>"


@overload
def scheme(made: type) -> Scheme: ...
@overload
def scheme(*, name: str | None = ..., compiled: bool | None = ...) -> Callable[[type], Scheme]: ...
def scheme(made: type | None = None, *, name: str | None = None, compiled: bool | None = None) -> Any:
    """Makes a placement scheme of a class.

    The class has ``classes``, a number; ``page``, the fields that are kept of each page, and
    ``state``, those that the scheme keeps besides: names to types as NumPy writes them (``i1 i2
    i4 i8 u1 u2 u4 f4 f8``), or to a type and a length; and ``params``, names to defaults. All
    fields are 0 at first; those of a page are again after it was trimmed. At most 24 bytes are
    kept of a page.

    ``place_user(self, write, page)`` and ``place_relocation(self, move, page)`` return the class,
    from 0. ``start(self, volume)``, ``on_sealed(self, zone)`` and ``on_victim(self, zone)`` may
    be there. ``self`` has the fields of ``state`` and ``params``. Integers are of 64 bits in
    between, and are cut to their type where they are kept.

    ``compiled`` says whether the methods must be compiled, or must not be; unless given, they are
    where Numba is installed. Numba compiles arithmetic, conditions and loops; functions that
    methods call carry :func:`jit`.
    """

    def make(made: type) -> Scheme:
        return Scheme(made, name or _hyphenated(made.__name__), compiled)

    return make if made is None else make(made)


def _structure(name: str, fields: Mapping[str, Any]) -> type[ctypes.Structure]:
    def typed(of: Any) -> Any:
        kind, length = (of, None) if isinstance(of, str) else of
        if kind not in _TYPES:
            raise TypeError(f"{kind!r} is no type of a field (known: {' '.join(_TYPES)})")
        return _TYPES[kind] if length is None else _TYPES[kind] * length

    # An empty structure would have no address.
    listed = [(field, typed(of)) for field, of in fields.items()] or [("_", ctypes.c_int8)]
    return type(name, (ctypes.Structure,), {"_fields_": listed})


def _known(of: type[ctypes.Structure]) -> str:
    return " ".join(field for field, *_ in of._fields_ if field != "_") or "none"


def _check_fields(where: str, method: Any, types: list[type[ctypes.Structure]]) -> None:
    """Finds a field that a method uses and that was not declared: compiled it would not be found by its name, and
    in Python a value that is put there would be lost."""
    try:
        code = method.__code__
        [made] = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    except (AttributeError, OSError, SyntaxError, TypeError, ValueError, tokenize.TokenError):
        # Without its text, as of a method that a program has made.
        return
    if not isinstance(made, ast.FunctionDef) or made.name != code.co_name:
        # Its file has another text.
        return
    arguments = dict(zip(code.co_varnames[: code.co_argcount], types, strict=False))
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            # Another value has the argument's name.
            arguments.pop(node.id, None)
    for node in ast.walk(made):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        of = arguments.get(node.value.id)
        if of is not None and node.attr not in [field for field, *_ in of._fields_]:
            line = code.co_firstlineno + node.lineno - 1
            raise AttributeError(
                f"{where}, line {line} of {code.co_filename}: {node.value.id} has no field "
                f"{node.attr!r} (known: {_known(of)})"
            )


def _hyphenated(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))
