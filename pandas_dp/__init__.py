"""Differential privacy as a pandas accessor: ``df.dp(epsilon=1).mean("income", bounds=(0, 500_000))``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pandas_dp.facts.starting  # noqa: F401 - before pandas is

# isort: split
import pandas

from pandas_dp.accessor.accessor import dp
from pandas_dp.errors import (
    OF_BUDGETS,
    SAME,
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    DataFileError,
    ForkedSessionError,
    LedgerBusyError,
    LedgerError,
    NoSessionError,
    PandasDPError,
    QueryFailedError,
    StepFailedError,
    StreamClosedError,
    UnknownSessionError,
    UnverifiedFrameError,
    misspelt,
)
from pandas_dp.facts.schema import Schema
from pandas_dp.moved import find_moved
from pandas_dp.session.session import Session

if TYPE_CHECKING:
    from pandas_dp import accounting, audit, datasets, local, teaching
    from pandas_dp.accessor.scan import ScannedTable, scan_parquet
    from pandas_dp.aggregates.choices import geometric_prices
    from pandas_dp.queries.plan import Plan, plan
    from pandas_dp.queries.query import Query, query
    from pandas_dp.release.reconcile import reconcile
    from pandas_dp.release.running_total import running_total
    from pandas_dp.session.mock import mock
    from pandas_dp.session.opening import open_session
    from pandas_dp.tables.readers import read_csv, read_feather, read_parquet

find_moved()
__version__ = "0.1.0"
_LATER = {  # what is loaded when it is asked for
    "accessor.scan": "ScannedTable scan_parquet",
    "aggregates.choices": "geometric_prices",
    "queries.plan": "Plan plan",
    "queries.query": "Query query",
    "release.reconcile": "reconcile",
    "release.running_total": "running_total",
    "session.mock": "mock",
    "session.opening": "open_session",
    "tables.readers": "read_csv read_feather read_parquet",
}
LATER = {name: f"pandas_dp.{module}" for module, names in _LATER.items() for name in names.split()}

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "BudgetExceededError",
    "DataFileError",
    "ForkedSessionError",
    "LedgerBusyError",
    "LedgerError",
    "NoSessionError",
    "PandasDPError",
    "Plan",
    "Query",
    "QueryFailedError",
    "ScannedTable",
    "Schema",
    "Session",
    "StepFailedError",
    "StreamClosedError",
    "UnknownSessionError",
    "UnverifiedFrameError",
    "accounting",
    "audit",
    "datasets",
    "dp",
    "geometric_prices",
    "local",
    "mock",
    "open_session",
    "plan",
    "query",
    "read_csv",
    "read_feather",
    "read_parquet",
    "reconcile",
    "running_total",
    "scan_parquet",
    "teaching",
]


def __dir__() -> list[str]:
    """Names that users may type; modules of the package aside."""
    return [*__all__, "__version__", "__doc__", "__name__"]


def __getattr__(name: str) -> Any:
    """Load what not every program needs when it is first asked for: importing the package shall cost little."""
    if name in ("accounting", "audit", "datasets", "local", "teaching"):
        return import_module(f"pandas_dp.{name}")
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    if name == "split":
        raise AttributeError("pandas_dp.split(1, queries) is now pandas_dp.plan(queries, frame=df, epsilon=1)")

    within = () if name.startswith("_") else ("accounting", "audit", "datasets", "local", "teaching")
    meant = SAME.get(name, name)
    room = next((room for room in within if meant in import_module(f"pandas_dp.{room}").__all__), "")
    if room:
        told = f": it is pandas_dp.{room}.{meant}"
    elif name == "protect":
        told = ": a frame is protected by df.dp.protect(epsilon=3)"
    elif name in ("average", "combine", "refine"):
        told = ": a second draw of an answer, averaged with the first or better, is df.dp(epsilon=0.5).refine(answer)"
    elif name in OF_BUDGETS:
        told = OF_BUDGETS[name]
    elif name.startswith("scan_"):
        told = ": scan_parquet('visits/*.parquet') scans files, and read_csv('visits.csv') loads one"
    elif hasattr(pandas, name) and name.startswith("read_"):
        told = f": read it with pandas, df = pandas.{name}(...), and then df.dp.protect(epsilon=3)"
    else:
        misspelt(__name__, __all__)(name)
    raise AttributeError(f"module 'pandas_dp' has no attribute {name!r}{told}", name=name)
