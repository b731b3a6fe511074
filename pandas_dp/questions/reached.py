"""A user's function gets its rows as an argument; one whose code takes a protected table from elsewhere is refused.

What that would return is no answer about a block: it would depend on all rows, at no price. Mostly it is a mistake, ``df`` for
``d``. Only what Python shows of a function is looked at, and of tables who they are and the marks they bear, never a cell.
"""

from __future__ import annotations

import dis
import functools
import gc
import os
import sys
import sysconfig
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.public_only import mark_of
from pandas_dp.tables import frames

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
MOST = 5_000  # objects that are looked at, the nearest first: longer lists hold data
TABLES = (pd.DataFrame, pd.Series)
# of these nothing is looked into: what modules hold is found by the names that code uses, and frames are the interpreter's
WHOLE = (
    *TABLES,
    pd.Index,
    np.ndarray,
    np.generic,
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
)
PLAIN = (str, bytes, int, float, complex)
INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def refuse_protected(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that uses a protected table, or what pandas made of one, besides its argument.

    Looked at are the globals that its code and that of functions within it name, the user's own functions and modules among
    them, closures, defaults, of the user's own classes all that they and their bases hold, and whatever other objects hold:
    lists, bound methods, iterators, generators, caches, weak references; of all these again.

    Raises
    ------
    ArgumentTypeError
    """
    for called, value in _reached(function):
        # by its type: what an object says of itself is code of the user's
        if (issubclass(type(value), TABLES) and mark_of(value) is not None) or frames.lookup(value) is not None:
            what = f"the protected table or column {called!r}" if called else "a protected table or column"
            raise ArgumentTypeError(
                f"{name} uses {what} besides its argument, so its result could reveal all rows. Nothing was charged. Use "
                "the argument alone, lambda block: float(block['pay'].mean()). Ask questions first, and use "
                "their answers inside"
            )


def _reached(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of what a function uses, as far as Python shows it; what has no name bears that of its holder."""
    seen: dict[int, Any] = {}  # which keeps them: the number of an object that is gone may be that of another
    rest: deque[tuple[str, Any]] = deque([("", function)])
    while rest and len(seen) < MOST:
        name, one = rest.popleft()
        if id(one) not in seen and not issubclass(type(one), PLAIN):
            seen[id(one)] = one
            yield name, one
            with suppress(RuntimeError):  # another thread put something into a dict
                rest += ((called or name, value) for called, value in islice(_held(one), MOST))


def _held(one: Any) -> Iterator[tuple[str, Any]]:
    """What an object uses, with its name where it has one there."""
    kind = type(one)
    if issubclass(kind, types.FunctionType):
        yield from _used(one)
    elif issubclass(kind, type):
        yield from _of_class(one)
    elif issubclass(kind, weakref.ref):
        yield "", one()
    elif issubclass(kind, weakref.ProxyTypes):
        with suppress(Exception):  # it may be gone
            yield "", one.__init__.__self__
    elif not issubclass(kind, WHOLE) and not _of_package(kind):
        # all that a module holds, of which code names what it uses
        if issubclass(kind, dict) and "__builtins__" in one:
            return
        if issubclass(kind, functools.partial):
            yield from one.keywords.items()
        if issubclass(kind, ContextVar):
            yield "", one.get(None)
        with suppress(Exception):  # a class of the user's own may say anything of itself
            yield from vars(one).items()
        yield from (("", value) for value in gc.get_referents(one))
        yield "", kind


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class and its bases hold, as far as they are the user's own: values, methods of every kind."""
    for base in filter(_own, kind.__mro__):
        for name, value in vars(base).items():
            yield name, value.fget if isinstance(value, property) else getattr(value, "__func__", value)


def _of_package(one: Any) -> bool:
    return str(one.__module__).partition(".")[0] == "pandas_dp"


def _own(one: Any) -> bool:
    """Whether a class, a function or a module is the user's, and comes neither with Python nor installed."""
    module = one if isinstance(one, types.ModuleType) else sys.modules.get(one.__module__)
    file = str(getattr(module, "__file__", None) or os.sep)
    return not file.startswith(INSTALLED) and getattr(module, "__name__", "").partition(".")[0] != "pandas_dp"


def _used(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What the code of a function, and of functions within it, uses."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # nothing stands in it yet
            yield name, cell.cell_contents
    yield from zip(reversed(code.co_varnames[: code.co_argcount]), reversed(function.__defaults__ or ()), strict=False)
    yield from (function.__kwdefaults__ or {}).items()
    yield from vars(function).items()
    if not _own(function):  # it was written for other tables
        return
    held, named = function.__globals__, _names(code)
    for name in _globals(code) & held.keys():
        yield name, held[name]
        if isinstance(held[name], types.ModuleType) and _own(held[name]):
            within = vars(held[name])
            yield from ((f"{name}.{inner}", within[inner]) for inner in named & within.keys())


def _globals(code: types.CodeType) -> set[str]:
    """Names that code looks up outside of functions: an attribute of this name is none."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL}
    return found.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))


def _names(code: types.CodeType) -> set[str]:
    """Names that code looks up anywhere, attributes among them."""
    return {*code.co_names}.union(*(_names(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))
