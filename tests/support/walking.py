"""What the package has, found by looking at its modules: lists of it, written by hand, would miss what is new."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pandas_dp
from pandas_dp.core.randomness import Bits, Fill

SOURCES = ("Fill", "Bits", Fill, Bits)  # annotations are text or not


def modules() -> Iterator[ModuleType]:
    """Every module of the package but the programs."""
    for found in pkgutil.walk_packages(pandas_dp.__path__, "pandas_dp."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def members(wanted: Callable[[Any], bool]) -> Iterator[Any]:
    """What a module defines, and does not merely import."""
    for module in modules():
        for thing in vars(module).values():
            if wanted(thing) and thing.__module__ == module.__name__:
                yield thing


def classes_with(*methods: str) -> set[type]:
    """Concrete classes that have one of some methods; protocols and abstract ones have none of their own."""
    return {
        cls
        for cls in members(inspect.isclass)
        if any(callable(getattr(cls, method, None)) for method in methods)
        and not getattr(cls, "_is_protocol", False)
        and not inspect.isabstract(cls)
    }


def drawing() -> set[type]:
    """Every class that draws, or starts what draws."""
    return classes_with("draw", "start")


def samplers() -> set[Callable[..., Any]]:
    """Every public function of the core that takes a source of random bytes or bits."""

    def random(function: Any) -> bool:
        if not inspect.isfunction(function) or function.__name__.startswith("_"):
            return False
        parameters = inspect.signature(function).parameters
        sources = "fill" in parameters or any(each.annotation in SOURCES for each in parameters.values())
        return function.__module__.startswith("pandas_dp.core") and sources

    return set(members(random))


def statistics() -> set[type]:
    """Every class that says how far one unit moves it."""
    return classes_with("sensitivity")
