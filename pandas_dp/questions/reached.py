"""A user's function gets its rows as an argument; one whose code takes a protected table from elsewhere is refused.

What that would return is no answer about a block: it would depend on all rows, at no price. Mostly it is a mistake, ``df`` for
``d``. Only what Python shows of a function is looked at, and of tables who they are and the marks they bear, never a cell.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.public_only import is_private
from pandas_dp.tables import frames

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
# of these nothing is looked into
WHOLE = (type, types.ModuleType, types.BuiltinFunctionType, pd.DataFrame, pd.Series, pd.Index, np.ndarray, np.generic)
PLAIN = (str, bytes, int, float, complex, tuple, list, dict, set, frozenset)
Reached = tuple[str, Any, bool]  # its name, or an empty text, and whether what it holds is looked into as well


def refuse_protected(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that uses a protected table, or what pandas made of one, beside its argument.

    Looked at are the globals that its code and that of functions within it name, the functions of its module among them,
    closures, defaults, the arguments of ``functools.partial``, and the attributes of the object that it is a method of and of
    the classes of its module.

    Raises
    ------
    ArgumentTypeError
    """
    for called, value in _reached(function):
        if is_private(value) or frames.lookup(value) is not None:
            what = f"the protected table or column {called!r}" if called else "a protected table or column"
            raise ArgumentTypeError(
                f"{name} uses {what} beside its argument, so what it returns would tell of all rows. Nothing was charged. Use "
                "the argument alone, lambda block: float(block['pay'].mean()). A question is asked before, and its answer used "
                "inside"
            )


def _reached(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of what a function uses, as far as Python shows it."""
    seen: dict[int, Any] = {}  # which keeps them: the number of an object that is gone may be that of another
    rest: list[Reached] = [("", function, True)]
    while rest:
        name, one, deep = rest.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            yield name, one
            rest += _held(one, deep)


def _held(one: Any, deep: bool) -> Iterator[Reached]:
    """What an object uses: of functions all, of others their attributes."""
    if isinstance(one, functools.partial):
        yield from (("", value, True) for value in (one.func, *one.args))
        yield from ((name, value, True) for name, value in one.keywords.items())
    elif isinstance(one, types.MethodType):
        yield from (("", value, True) for value in (one.__func__, one.__self__))
        yield from _of_class(one.__self__, one.__func__.__module__)
    elif isinstance(one, types.FunctionType):
        yield from ((name, value, True) for name, value in _used(one))
    elif deep and not isinstance(one, WHOLE + PLAIN) and not type(one).__module__.startswith("pandas_dp."):
        if callable(one):
            yield "", type(one).__call__, False
            yield from _of_class(one, type(one).__module__)
        with suppress(Exception):  # a class of the user's own may say anything of itself
            yield from ((name, value, False) for name, value in vars(one).items())


def _of_class(one: Any, module: str) -> Iterator[Reached]:
    """What the classes of an object hold, or of a class itself, those of one module: values, methods of every kind, slots."""
    for base in (one if isinstance(one, type) else type(one)).__mro__:
        for name, value in vars(base).items() if base.__module__ == module else ():
            if isinstance(value, types.MemberDescriptorType) and not isinstance(one, type):
                with suppress(AttributeError):  # nothing stands in it yet
                    yield name, value.__get__(one), False
            held = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            yield name, held, False


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
        # functions of other modules were written for other tables
        if not isinstance(value, types.FunctionType) or value.__globals__ is held:
            yield name, value
        if isinstance(value, type) and value.__module__ == held.get("__name__"):
            yield from ((part, each) for part, each, _ in _of_class(value, value.__module__))


def _globals(code: types.CodeType) -> set[str]:
    """Names that code looks up outside of functions: an attribute of this name is none."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL}
    return found.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))
