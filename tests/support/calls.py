"""Every call that a user can type, found by looking at the package, with one that is right to begin from.

Questions and priced steps come from `support.questions`; for all others `HELPERS` names a right call. What is neither
recorded nor in `HELPERS` or `EXEMPT` is told by `unknown`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from support.frames import fresh, protected
from support.odd import FEW as FEW_ODD
from support.odd import ODD
from support.questions import BY_UNIT, EVERY, FEW_BLOCKS, FOUND, KEYS, NO_QUESTION, ROW_BY_ROW, table

import pandas_dp
from pandas_dp import accounting, audit, local, teaching
from pandas_dp.accessor.accessor import Accessor
from pandas_dp.aggregates import tidy
from pandas_dp.questions.frame import PricedColumn, PricedFrame
from pandas_dp.questions.groups import PricedGroups
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.release.base import Release
from pandas_dp.session.streams import Stream
from pandas_dp.steps.steps import RowSteps

ASKED = (PricedFrame, PricedColumn, PricedGroups)  # whose methods are questions, or lead to them
STEPS = {name for name in vars(RowSteps) if not name.startswith("_")}
MODULES = ("accounting", "audit", "datasets", "local", "postprocess", "teaching")


class Made(NamedTuple):
    """A right call: what is called, with which arguments, and what follows it."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})
    then: Callable[[Any], Any] = lambda made: made
    odd: Iterable[str] = tuple(ODD)


def subclasses(*classes: type) -> set[type]:
    """These and everything of the package that inherits from them."""
    found = set(classes)
    for cls in classes:
        found |= subclasses(*cls.__subclasses__())
    return {cls for cls in found if cls.__module__.startswith("pandas_dp")}


def imported() -> None:
    """Import every module of the package, as `subclasses` knows those alone."""
    for module in pkgutil.walk_packages(pandas_dp.__path__, "pandas_dp."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def methods(cls: type) -> Iterator[str]:
    """Public methods of a class that the package defines."""
    for name, member in inspect.getmembers(cls):
        function = inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else None
        own = inspect.isfunction(function) and function.__module__.startswith("pandas_dp")
        if own and (not name.startswith("_") or name in ("__call__", "__getitem__")):
            yield name


def owner(cls: type, name: str) -> str:
    """A method by the class that says what it does."""
    holder = next(base for base in cls.__mro__ if name in vars(base))
    return f"{holder.__name__}.{name}"


def questions() -> set[str]:
    """Every method of a priced frame, of its columns and of its groups, steps aside."""
    others = STEPS | NO_QUESTION | {"__getitem__"}
    return {f"{cls.__name__}.{name}" for cls in ASKED for name in methods(cls) if name not in others}


def helpers() -> set[str]:
    """Everything else that can be called: functions of the package, and methods of what they return."""
    imported()
    found = {f"PricedFrame.{name}" for name in NO_QUESTION}
    spaces = [("", pandas_dp), *((f"{name}.", importlib.import_module(f"pandas_dp.{name}")) for name in MODULES)]
    classes = {Accessor, PreparedFrame, *subclasses(Release, Stream, Accessor, pandas_dp.Session)}
    for prefix, module in spaces:
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]:
            thing = getattr(module, name)
            if not callable(thing) or not str(thing.__module__).startswith("pandas_dp"):
                continue
            if not inspect.isclass(thing):
                found.add(prefix + name)
            elif not issubclass(thing, Exception):
                classes.add(thing)
                found.add(f"{thing.__name__}()")
    for cls in classes:
        found |= {owner(cls, name) for name in methods(cls)}
    return found | {"PricedFrame.__getitem__", "PricedGroups.__getitem__"}


# ------------------------------------------------------------------------------------------------ questions, from the registry
def held(units: bool = False, replaced: bool = False) -> pd.DataFrame:
    """A protected table with a budget of its own that nothing here can use up."""
    frame = table()
    unit = {"unit": "uid", "max_rows": 4} if units else {}
    relation = {"neighbors": "replace_one", "rows": True} if replaced else {}
    frame.dp.protect(epsilon=10**6 - 1, delta=0.5, name=fresh(), **relation, **unit)
    return frame


def recorded() -> Iterator[tuple[str, Made]]:
    """(question, a right call of it), from every chain of the registry, but one of each set of arguments."""
    seen, frames = set(), {}
    for name, ask in (EVERY | FEW_BLOCKS | FOUND).items():
        terms = name in BY_UNIT, name in ROW_BY_ROW
        if terms not in frames:
            frames[terms] = held(*terms)
        frame = frames[terms]
        price = {"epsilon": 1, "delta": 1e-6} if name in FOUND else {"epsilon": 1}
        calls = ask(pandas_dp.query(**price))._calls
        for i, call in enumerate(calls):
            made = _along(frame.dp(**price), calls[:i])
            kind = next(cls for cls in ASKED if isinstance(made, cls))
            what = type(made), call.name, len(call.args), tuple(call.options)
            if call.name == "[]" or call.name in STEPS or what in seen:
                continue
            seen.add(what)
            then = partial(_along, calls=calls[i + 1 :])
            yield f"{kind.__name__}.{call.name}", Made(getattr(made, call.name), call.args, call.options, then)


def _along(made: Any, calls: Any) -> Any:
    for call in calls:
        made = made[call.args[0]] if call.name == "[]" else getattr(made, call.name)(*call.args, **call.options)
    return made


# ----------------------------------------------------------------------------------------------------------- everything else
FRAME = held()
DAYS = table()
DAYS.dp.protect(epsilon=10**6 - 1, delta=0.5, unit="uid", max_rows=4, period="D", time="day", name=fresh())
ASKING = FRAME.dp(epsilon=1)
UNITS = held(units=True)
LOOKUP = {"ward": ["A", "B"], "floor": [1, 2]}
SERIES = pd.Series([3.5, -1.0, 2.0], index=KEYS)
SCHEMA = {"cost": {"bounds": (0, 100)}, "ward": {"keys": KEYS}}
STEP_CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "query": (("cost > 3",), {}),
    "filter": ((pd.col("cost") > 3,), {}),
    "assign": ((), {"half": lambda d: d.cost / 2}),
    "eval": (("half = cost / 2",), {}),
    "clip": ((0, 50), {"columns": ["cost"]}),
    "fillna": (({"cost": 5},), {}),
    "dropna": ((["cost"],), {}),
    "merge": ((LOOKUP,), {"on": "ward", "how": "left"}),
    "explode": (("tags",), {"max": 2}),
    "drop": ((["cost"],), {}),
    "rename": (({"cost": "price"},), {}),
}
LISTS = table().assign(tags=[["a", "b"]] * 200)
LISTS.dp.protect(epsilon=10**6 - 1, unit="uid", max_rows=4, name=fresh())


def streamed(kind: str) -> Any:
    """A stream that was opened."""
    return (
        UNITS.dp(epsilon=1).above_threshold(50, max_above=9)
        if kind == "threshold"
        else (ASKING.oracle("pmw", domain={"ward": KEYS}))
    )


def closing(session: Any) -> None:
    """End a session: a name that is odd, but right, would be in the way of the next one."""
    session.close()


def _protect(**given: Any) -> Callable[[], Made]:
    return lambda: Made(table().dp.protect, (), {"name": fresh(), **given}, closing)


def _steps() -> Iterator[tuple[str, Callable[[], Made]]]:
    for name, (args, options) in STEP_CALLS.items():
        frame = LISTS if name == "explode" else FRAME
        yield f"Accessor.{name}", lambda f=frame, n=name, a=args, o=options: Made(getattr(f.dp, n), a, o)
        yield (
            f"PreparedFrame.{name}",
            lambda f=frame, n=name, a=args, o=options: Made(
                getattr(f.dp(epsilon=1), n), a, o, lambda made: made.count()
            ),
        )


COUNT = ASKING.count()
VECTOR = ASKING.value_counts("ward", keys=KEYS)
RANGES = ASKING.histogram("cost", bins=range(101), workload="ranges")
CROSS = ASKING.crosstab("ward", "to", keys={"ward": KEYS, "to": KEYS})
IN_TURN = [DAYS.dp.period(day).dp(epsilon=1).count() for day in ("2013-01-05", "2013-01-06")]
COUNTS = [ASKING.value_counts("ward", keys=KEYS), CROSS]
ANSWERED = held(replaced=True)
QUERY = pandas_dp.query(epsilon=1).mean("cost", bounds=(0, 100))
LEVELLED = {"level": 0.9}
WANTED, TOTAL = pandas_dp.query(within=9).count(), {"epsilon": 1, "delta": 1e-6, "accountant": "gdp"}
REPORTED = held().dp.session
FEW = table().head(4)
TAUGHT = teaching.sensitivities([1, 2, 9], (0, 10), beta=0.1)
CHOSEN = teaching.selection({"a": 3, "b": 5}, epsilon=1)
SOLD = teaching.revenue([3, 4], upper=5, epsilon=1)
NOISE = teaching.admissible("polynomial", 1)
TOY = pd.DataFrame({"x": [0, 1]})
TRACE = teaching.median_mechanism(TOY, ["x == 1"], candidates=[TOY], epsilon=1)
EXEMPT = {
    "read_parquet": "pandas reads, and raises what it raises",
    "read_csv": "pandas reads, and raises what it raises",
    "read_feather": "pandas reads, and raises what it raises",
    **dict.fromkeys(
        (
            "FirstSteps.head",
            "FirstSteps.tail",
            "FirstSteps.sort_values",
            "FirstSteps.sort_index",
            "FirstSteps.round",
            "SeriesRelease.unstack",
        ),
        "of pandas, and raises what that raises",
    ),
    "Plan()": "made by plan()",
    "Plan.__getitem__": "of tuples, and raises what that raises",
    "Query()": "made by query()",
    "ScannedTable()": "made by scan_parquet()",
    "Session()": "made by protect() and open_session()",
    "Sensitivities()": "made by teaching.sensitivities()",
    "Selection()": "made by teaching.selection()",
    "Revenue()": "made by teaching.revenue()",
    "Admissible()": "made by teaching.admissible()",
    "MedianTrace()": "made by teaching.median_mechanism()",
    "AuditResult()": "made by audit.check()",
    "Schema.after": "for the package's own steps",
    "Accessor.__getitem__": "refuses whatever is selected",
    "ScannedTable.__getitem__": "refuses whatever is selected",
}

HELPERS: dict[str, list[Callable[[], Made]]] = {}


def right(name: str, make: Callable[[], Made]) -> None:
    """Add a right call of what goes by a name."""
    HELPERS.setdefault(name, []).append(make)


for _name, _make in _steps():
    right(_name, _make)
right("Accessor.__call__", lambda: Made(FRAME.dp, (), {"epsilon": 1}, lambda made: made.count()))
right("Accessor.__call__", lambda: Made(FRAME.dp, (), {"within": 5}, lambda made: made.count()))
right("Accessor.preview", lambda: Made(FRAME.dp.preview, (1,), {"rows": 100}, lambda made: made.count()))
right("Accessor.protect", _protect(epsilon=1, unit="uid", max_rows=2, schema=SCHEMA))
right("Accessor.protect", _protect(epsilon=1, delta=1e-6, plan={0.1: 3}))
right("Accessor.protect", lambda: Made(table().dp.protect, (), {"session": FRAME.dp.session}))
right("Accessor.pipe", lambda: Made(FRAME.dp.pipe, (QUERY,)))
right("Accessor.protect", _protect(epsilon=1, unit="uid", max_rows=2, period="D", time="day"))
right("Accessor.period", lambda: Made(DAYS.dp.period, ("2013-01-05", "2013-01-07")))
right("Accessor.allot", lambda: Made(FRAME.dp.allot, (fresh(),), {"epsilon": 1}))
right("Accessor.partition", lambda: Made(held().dp.partition, ("ward",), {"keys": KEYS, "epsilon": 1}))
right("PricedFrame.__getitem__", lambda: Made(ASKING.__getitem__, ("cost",), {}, lambda made: made.count()))
right(
    "PricedGroups.__getitem__",
    lambda: Made(ASKING.groupby("ward", keys=KEYS).__getitem__, ("cost",), {}, lambda g: g.count()),
)
right("Session.adopt", lambda: Made(FRAME.dp.session.adopt, (table(),), {"reason": "rows as they were"}))
right("Session.extend", lambda: Made(held().dp.session.extend, (10**6,), {"reason": "more"}))
right("Session.close", lambda: Made(held().dp.session.close))
right("Session.group", lambda: Made(FRAME.dp.session.group, (3,)))
right("Session.group", lambda: Made(DAYS.dp.session.group, (), {"periods": 7}))
right(
    "Session.reconcile", lambda: Made(FRAME.dp.session.reconcile, (), {"complete": ["ward", "to"], "nonnegative": True})
)
right("Session.report", lambda: Made(REPORTED.report, ("page.html",), odd=FEW_ODD))
right(
    "Session.report",
    lambda: Made(REPORTED.report, ("page.json",), {"about": {"name": "Visits"}, "values": True}, odd=FEW_ODD),
)
REFINED = protected(epsilon=100)
right("PricedFrame.refine", lambda: Made(REFINED.dp(epsilon=1).refine, (REFINED.dp(epsilon=1).count(),)))
right("Session.plot", lambda: Made(FRAME.dp.session.plot))
right("Query.__call__", lambda: Made(QUERY.__call__, (FRAME,)))
right("Query.preview", lambda: Made(QUERY.preview, (FRAME,), {"rows": 100}))
right("Query.to_dict", lambda: Made(QUERY.to_dict))
right("Query.from_dict", lambda: Made(pandas_dp.Query.from_dict, (QUERY.to_dict(),), {}, lambda q: q(FRAME)))
right("Query.__getitem__", lambda: Made(pandas_dp.query(epsilon=1).__getitem__, ("cost",)))
right("query", lambda: Made(pandas_dp.query, (1,), {}, lambda q: q.count()(FRAME)))
right("Schema()", lambda: Made(pandas_dp.Schema, (SCHEMA,)))
right("Schema.of", lambda: Made(pandas_dp.Schema.of, (SCHEMA,)))
right(
    "Schema.from_arrow",
    lambda: Made(pandas_dp.Schema.from_arrow, (pa.schema({"a": pa.dictionary(pa.int8(), pa.string())}),)),
)
right("Schema.from_public_sample", lambda: Made(pandas_dp.Schema.from_public_sample, (pd.DataFrame({"a": [1, 2]}),)))
right("Schema.from_toml", lambda: Made(pandas_dp.Schema.from_toml, ("schema.toml",)))
right("Schema.to_toml", lambda: Made(pandas_dp.Schema(SCHEMA).to_toml))
for _stream in ("threshold", "oracle"):
    right(
        {"threshold": "ThresholdStream.ask", "oracle": "OracleStream.ask"}[_stream],
        lambda k=_stream: Made(streamed(k).ask, ("ward == 'A'",)),
    )
right("ThresholdStream.margin", lambda: Made(streamed("threshold").margin, (10, 0.9)))
right("Stream.close", lambda: Made(streamed("oracle").close))
for _release in (COUNT, VECTOR, CROSS):
    right("Release.interval", lambda r=_release: Made(r.interval, (), LEVELLED))
    right("Release.table", lambda r=_release: Made(r.table, (), LEVELLED))
    right("Release.to_csv", lambda r=_release: Made(r.to_csv, (), LEVELLED, odd=FEW_ODD))
    right("Release.to_json", lambda r=_release: Made(r.to_json))
    right("Release.plot", lambda r=_release: Made(r.plot, (), LEVELLED, odd=FEW_ODD))
right("SeriesRelease.range_sum", lambda: Made(RANGES.range_sum, (3, 9)))
right(
    "SeriesRelease.estimate",
    lambda: Made(ANSWERED.dp(epsilon=1).randomized_response("ward", keys=KEYS).estimate, (), LEVELLED),
)
right("SeriesRelease.nonnegative", lambda: Made(VECTOR.nonnegative))
right("SeriesRelease.to_simplex", lambda: Made(VECTOR.to_simplex, (200,)))
right("SeriesRelease.round_to_total", lambda: Made(VECTOR.round_to_total, (200,)))
right("SeriesRelease.isotonic", lambda: Made(VECTOR.isotonic, (False,)))
for _whole in (VECTOR, CROSS):
    right("Vector.plot", lambda r=_whole: Made(r.plot, (), LEVELLED, odd=FEW_ODD))
    right("Vector.to_csv", lambda r=_whole: Made(r.to_csv, (), LEVELLED, odd=FEW_ODD))
MEANS = ASKING.groupby("ward", keys=KEYS)["cost"].mean(bounds=(0, 100), population=True)
right("Vector.difference", lambda: Made(MEANS.difference, ("A", "B")))
right("SeriesRelease.table", lambda: Made(VECTOR.table, (), LEVELLED))
right("FrameRelease.table", lambda: Made(CROSS.table, (), LEVELLED))
right(
    "FrameRelease.independence",
    lambda: Made(ASKING.crosstab("ward", "to", keys={"ward": KEYS, "to": KEYS}).independence),
)
right("Schema.__getitem__", lambda: Made(pandas_dp.Schema(SCHEMA).__getitem__, ("cost",)))
right("teaching.sensitivities", lambda: Made(teaching.sensitivities, ([1, 2, 9], (0, 10)), {"q": 0.5, "beta": 0.1}))
right("Sensitivities.table", lambda: Made(TAUGHT.table))
right("Sensitivities.plot", lambda: Made(TAUGHT.plot))
right(
    "teaching.selection",
    lambda: Made(
        teaching.selection,
        ({"a": 3, "b": 5},),
        {"epsilon": 1, "sensitivity": 2, "monotonic": True, "measure": {"a": 1, "b": 2}},
    ),
)
right("Selection.table", lambda: Made(CHOSEN.table))
right("Selection.shortfall", lambda: Made(CHOSEN.shortfall, (3,)))
right("Selection.chance_below", lambda: Made(CHOSEN.chance_below, (2,)))
right("Selection.plot", lambda: Made(CHOSEN.plot))
right("teaching.revenue", lambda: Made(teaching.revenue, ([3, 4],), {"upper": 5, "epsilon": 1, "supply": 1}))
right("Revenue.at", lambda: Made(SOLD.at, (3,)))
right("Revenue.probability", lambda: Made(SOLD.probability, (1, 3)))
right("Revenue.table", lambda: Made(SOLD.table))
right("Revenue.plot", lambda: Made(SOLD.plot))
OWN_NOISE = {"gamma": 4, "alpha": 0.1, "beta": 0.1}
right("teaching.admissible", lambda: Made(teaching.admissible, ("polynomial", 1), OWN_NOISE))
right("teaching.admissible", lambda: Made(teaching.admissible, ("laplace", 1, 1e-6)))
right("Admissible.density", lambda: Made(NOISE.density, ([0, 1],)))
right("Admissible.answer", lambda: Made(NOISE.answer, (TAUGHT,)))
right("Admissible.plot", lambda: Made(NOISE.plot))
right("teaching.candidate_tables", lambda: Made(teaching.candidate_tables, (TOY, 2)))
right(
    "teaching.median_mechanism",
    lambda: Made(teaching.median_mechanism, (TOY, ["x == 1"]), {"candidates": [TOY], "epsilon": 1}),
)
right(
    "teaching.median_thresholds",
    lambda: Made(teaching.median_thresholds, (1,), {"accuracy": 0.1, "queries": 100, "universe": 16, "rows": 1000}),
)
right("MedianTrace.table", lambda: Made(TRACE.table))
right("MedianTrace.error", lambda: Made(TRACE.error, (), LEVELLED))
right("MedianTrace.plain_error", lambda: Made(TRACE.plain_error, (10,), LEVELLED))
for _loss in ("Loss", "Laplace", "Exponential", "Gaussian"):
    right(f"{_loss}()", lambda c=_loss: Made(getattr(accounting, c), (0.5,)))
right("accounting.compose", lambda: Made(accounting.compose, ([accounting.Laplace(0.1)] * 5,), {"delta": 1e-6}))
right("accounting.epsilon_for", lambda: Made(accounting.epsilon_for, (10, (1, 1e-6), "optimal", accounting.Loss)))
right("accounting.gaussian_sigma", lambda: Made(accounting.gaussian_sigma, (1, 1e-6, 2)))
right("accounting.group_privacy", lambda: Made(accounting.group_privacy, ((1, 1e-6), 3)))
right("accounting.queries_for", lambda: Made(accounting.queries_for, (0.1, (1, 1e-6), "optimal")))
right("accounting.subsampled", lambda: Made(accounting.subsampled, (1, 1e-6), {"rate": 0.1, "relation": "add_remove"}))
right("audit.check", lambda: Made(audit.check, (QUERY, FEW, FEW.iloc[1:]), {"samples": 100}, odd=FEW_ODD))
right("audit.pairs", lambda: Made(audit.pairs, (FEW,), {"unit": "uid"}))
right("datasets.load_adult", lambda: Made(pandas_dp.datasets.load_adult))
right("datasets.load_flights", lambda: Made(pandas_dp.datasets.load_flights))
right("local.epsilon_of", lambda: Made(local.epsilon_of, (0.5,), {"keys": KEYS}))
right("local.estimate", lambda: Made(local.estimate, (["A", "B"],), {"keys": KEYS, "epsilon": 1}))
right("local.estimate", lambda: Made(local.estimate, (["A", "B"],), {"keys": KEYS, "alpha": 0.5}))
right("local.randomize", lambda: Made(local.randomize, ("A",), {"keys": KEYS, "epsilon": 1}))
right("local.randomize", lambda: Made(local.randomize, ("A",), {"keys": KEYS, "alpha": 0.5}))
right("postprocess.isotonic", lambda: Made(tidy.isotonic, (SERIES, False)))
right("postprocess.nonnegative", lambda: Made(tidy.nonnegative, (SERIES,)))
right("postprocess.round_to_total", lambda: Made(tidy.round_to_total, (SERIES, 5)))
right("postprocess.to_simplex", lambda: Made(tidy.to_simplex, (SERIES, 5)))
right("scan_parquet", lambda: Made(pandas_dp.scan_parquet, ("table.parquet",)))
right("open_session", lambda: Made(pandas_dp.open_session, ("books.dpledger",), {"name": "data"}))
right("dp", lambda: Made(pandas_dp.dp, (FRAME,)))
right("geometric_prices", lambda: Made(pandas_dp.geometric_prices, (1, 100, 1.5)))
right("mock", lambda: Made(pandas_dp.mock, (SCHEMA,), {"rows": 20, "unit": "uid", "max_rows": 3}))
right("reconcile", lambda: Made(pandas_dp.reconcile, (COUNTS,), {"complete": ["ward", "to"], "nonnegative": True}))
right("running_total", lambda: Made(pandas_dp.running_total, (IN_TURN,)))
right("Plan.__call__", lambda: Made(pandas_dp.plan([WANTED], FRAME).__call__, (FRAME,)))
right("Plan.to_toml", lambda: Made(pandas_dp.plan([WANTED], FRAME).to_toml))
right("Plan.table", lambda: Made(pandas_dp.plan([WANTED], FRAME).table))
right("plan", lambda: Made(pandas_dp.plan, ([WANTED, WANTED], FRAME), TOTAL | {"rows": 9}, odd=FEW_ODD))
right("plan", lambda: Made(pandas_dp.plan, ([WANTED, WANTED], FRAME), {"reconcile": True, "complete": []}))
