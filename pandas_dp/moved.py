"""Modules under the names they had: pickled answers of earlier versions name them, and are read for ever."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {  # to where what is pickled stands today
    "aggregates.bought_scale": "aggregates.smooth",
    "aggregates.domains": "aggregates.oracles",
    "aggregates.expected": "aggregates.base",
    "aggregates.extremes": "aggregates.quantiles",
    "aggregates.listed": "aggregates.key_selections",
    "aggregates.prices": "aggregates.choices",
    "aggregates.selections": "aggregates.quantiles",
    "aggregates.kmeans": "aggregates.vectors",
    "aggregates.spanning_tree": "aggregates.smooth",
    "aggregates.sums": "aggregates.moments",
    "aggregates.units": "aggregates.count",
    "aggregates.winsorized": "aggregates.sample_and_aggregate",
    "asked": "aggregates.asked",
    "books.entries": "books.views",
    "core.statistics.centre": "core.statistics.smooth",
    "core.statistics.conditions": "core.statistics.scores",
    "core.statistics.distinct": "core.statistics.counts",
    "core.statistics.key_counts": "core.statistics.counts",
    "core.statistics.revenue": "core.statistics.scores",
    "core.statistics.trimmed": "core.statistics.smooth",
    "core.statistics.units": "core.statistics.counts",
    "kinds": "facts.kinds",
    "postprocess": "aggregates.tidy",
    "recorded": "facts.call",
    "report.books": "books.views",
    "report.odometer": "books.odometer",
    "report.preview": "release.preview",
    "report.provenance": "release.base",
    "report.scalars": "release.values",
    "report.series": "release.values",
    "report.shown": "release.summary",
    "report.vectors": "release.values",
    "schema": "facts.schema",
    "steps.explode": "steps.changes",
    "uncertainty": "aggregates.uncertainty",
}


class Moved(MetaPathFinder, Loader):
    """Finds a module by its former name; the import then gives the module of today."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Know the former names, and that there was a folder of them."""
        known = name.removeprefix("pandas_dp.")
        return ModuleSpec(name, self, is_package=known == "report") if known in MOVED or known == "report" else None

    def exec_module(self, module: ModuleType) -> None:
        """Put today's module in the place of the one that is being made."""
        known = module.__name__.removeprefix("pandas_dp.")
        if known in MOVED:
            sys.modules[module.__name__] = import_module(f"pandas_dp.{MOVED[known]}")


def find_moved() -> None:
    """Let imports find modules by their former names, after all that is found otherwise."""
    sys.meta_path.append(Moved())
