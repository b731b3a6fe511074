"""A user's function gets its rows as an argument; one whose code takes a protected table from elsewhere is refused.

What that would return is no answer about a block: it would depend on all rows, at no price. Mostly it is a mistake, ``df`` for
``d``. Only what Python shows of a function is looked at, and of tables who they are and the marks they bear, never a cell.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.public_only import is_private
from pandas_dp.tables import frames

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
MOST = 5_000  # objects that are looked at, the nearest first: longer lists hold data
# of these nothing is looked into
WHOLE = (types.ModuleType, types.BuiltinFunctionType, pd.DataFrame, pd.Series, pd.Index, np.ndarray, np.generic)
PLAIN = (str, bytes, int, float, complex)
INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def refuse_protected(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that uses a protected table, or what pandas made of one, beside its argument.

    Looked at are the globals that its code and that of functions within it name, the functions of its module among them,
    closures, defaults, the arguments of ``functools.partial``, what lists, tuples, sets and dicts hold, the attributes of
    objects, and of the user's own classes all that they and their bases hold; of all these again.

    Raises
    ------
    ArgumentTypeError
    """
    for called, value in _reached(function):
        # of a dict, which may hold itself, what it holds comes by itself
        if (not isinstance(value, dict) and is_private(value)) or frames.lookup(value) is not None:
            what = f"the protected table or column {called!r}" if called else "a protected table or column"
            raise ArgumentTypeError(
                f"{name} uses {what} beside its argument, so its result could reveal all rows. Nothing was charged. Use "
                "the argument alone, lambda block: float(block['pay'].mean()). Ask questions before, and use "
                "their answers inside"
            )


def _reached(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of what a function uses, as far as Python shows it."""
    seen: dict[int, Any] = {}  # which keeps them: the number of an object that is gone may be that of another
    rest: deque[tuple[str, Any]] = deque([("", function)])
    while rest and len(seen) < MOST:
        name, one = rest.popleft()
        if id(one) not in seen and not isinstance(one, PLAIN):
            seen[id(one)] = one
            yield name, one
            with suppress(RuntimeError):  # another thread put something into a dict or a set
                rest += islice(_held(one), MOST)


def _held(one: Any) -> Iterator[tuple[str, Any]]:
    """What an object uses, with its name where it has one there."""
    if isinstance(one, functools.partial):
        yield from (("", value) for value in (one.func, *one.args))
        yield from one.keywords.items()
    elif isinstance(one, types.MethodType):
        yield from (("", value) for value in (one.__func__, one.__self__))
    elif isinstance(one, types.FunctionType):
        yield from _used(one)
    elif isinstance(one, list | tuple | set | frozenset):
        yield from (("", value) for value in one)
    elif isinstance(one, dict):
        yield from (("", value) for value in one.values())
    elif isinstance(one, type):
        yield from _of_class(one)
    elif not isinstance(one, WHOLE) and not type(one).__module__.startswith("pandas_dp."):
        with suppress(Exception):  # a class of the user's own may say anything of itself
            yield from vars(one).items()
        for base in type(one).__mro__:
            for name, value in vars(base).items() if _own(base) else ():
                if isinstance(value, types.MemberDescriptorType):
                    with suppress(AttributeError):  # nothing stands in it yet
                        yield name, value.__get__(one)
        yield "", type(one)


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class and its bases hold, as far as they are the user's own: values, methods of every kind."""
    for base in filter(_own, kind.__mro__):
        for name, value in vars(base).items():
            yield name, value.fget if isinstance(value, property) else getattr(value, "__func__", value)


def _own(kind: type) -> bool:
    """Whether a class is the user's, and comes neither with Python nor installed."""
    return not str(getattr(sys.modules.get(kind.__module__), "__file__", os.sep)).startswith(INSTALLED)


def _used(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What the code of a function, and of functions within it, uses."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # nothing stands in it yet
            yield name, cell.cell_contents
    yield from zip(reversed(code.co_varnames[: code.co_argcount]), reversed(function.__defaults__ or ()), strict=False)
    yield from (function.__kwdefaults__ or {}).items()
    held = function.__globals__
    for name in _globals(code) & held.keys():
        value = held[name]
        # functions of other modules were written for other tables; one of this module that others wrapped says so
        if (
            not isinstance(value, types.FunctionType)
            or value.__globals__ is held
            or value.__module__ == held.get("__name__")
        ):
            yield name, value


def _globals(code: types.CodeType) -> set[str]:
    """Names that code looks up outside of functions: an attribute of this name is none."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL}
    return found.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))
