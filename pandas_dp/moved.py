"""Modules under the names they had: pickled answers of earlier versions name them, and are read for ever."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_FORMER = {  # where what is pickled stands today, and the names that it had
    "aggregates.asked": "asked",
    "aggregates.base": "aggregates.expected",
    "aggregates.choices": "aggregates.prices",
    "aggregates.count": "aggregates.units",
    "aggregates.key_selections": "aggregates.listed",
    "aggregates.moments": "aggregates.sums",
    "aggregates.oracles": "aggregates.domains",
    "aggregates.private_bounds": "aggregates.own_bounds",
    "aggregates.quantiles": "aggregates.extremes aggregates.selections",
    "aggregates.sample_and_aggregate": "aggregates.winsorized",
    "aggregates.smooth": "aggregates.bought_scale aggregates.spanning_tree",
    "aggregates.tidy": "postprocess",
    "aggregates.uncertainty": "uncertainty",
    "aggregates.vectors": "aggregates.kmeans",
    "audit.search": "audit.result",
    "books.odometer": "report.odometer",
    "books.views": "books.entries report.books",
    "core.statistics.counts": "core.statistics.distinct core.statistics.key_counts core.statistics.units",
    "core.statistics.scores": "core.statistics.conditions core.statistics.revenue",
    "core.statistics.smooth": "core.statistics.centre core.statistics.trimmed",
    "facts.call": "recorded",
    "facts.kinds": "kinds",
    "facts.schema": "schema",
    "release.base": "report.provenance",
    "release.preview": "report.preview",
    "release.summary": "report.shown",
    "release.values": "report.scalars report.series report.vectors",
    "steps.changes": "steps.explode",
}
MOVED = {old: new for new, names in _FORMER.items() for old in names.split()}


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
