"""Rows in the partitions of a Dask DataFrame: what workers do with them, and how nothing of them shows where that fails."""

from __future__ import annotations

import contextlib
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import cloudpickle  # type: ignore[import-untyped]
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask._task_spec import GraphNode, Task, TaskRef, convert_legacy_graph
from dask.delayed import Delayed

from pandas_dp.core.gate import guarded, hush
from pandas_dp.core.interrupts import stop
from pandas_dp.core.measurement import ByClass
from pandas_dp.engines.arrow import has_kernel, rows_at
from pandas_dp.engines.cells import BARE, shallow
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ChunkSummary, PartitionedView
from pandas_dp.errors import ArgumentValueError, QueryFailedError
from pandas_dp.facts.schema import has_dtype
from pandas_dp.steps.changes import Step, applied
from pandas_dp.tables.condensing import Condensing, Rows, places
from pandas_dp.tables.conforming import conformed, declared, fitted, objects, settled, whole_units
from pandas_dp.tables.dask_checks import check_reader, optimized, unchecked
from pandas_dp.tables.parquet import Source

TOGETHER = 8  # summaries that are added in one task
PLACE = "_place"
RESERVED = "_partitions"  # what Dask calls a column of its own while it shuffles
REFUSAL = (
    "this Dask DataFrame object is not protected: a session answers for the object that was protected and for what its steps "
    "made, such as ddf.dp.query('age >= 65'); what Dask itself makes of it is another object. For a whole table about "
    "the same people: ddf.dp.protect(session=session); for a first table: ddf.dp.protect(epsilon=3)"
)
UNCOUNTED = (
    "the number of rows is public under neighbors='replace_one', but the rows of this Dask DataFrame could not be counted, so "
    "nothing was charged: try len(ddf)"
)


@dataclass(frozen=True, eq=False)
class Partitions(Source):
    """Rows of a Dask DataFrame, after steps. What Dask calls an expression has no part in it: it may follow from the cells.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
        As it was when it was protected: a shallow copy.
    steps : tuple of Step
    """

    frame: dd.DataFrame = field(repr=False)
    steps: tuple[Step, ...] = ()
    refusal: ClassVar[str | None] = REFUSAL

    @classmethod
    def of(cls, frame: dd.DataFrame) -> Partitions:
        """Those of a frame as it is now.

        Raises
        ------
        ArgumentValueError
            If rows decide how the reader of its CSV files reads others.
        """
        check_reader(frame)
        return cls(frame.copy())

    @property
    def empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns before any step, without a row, as they are declared."""
        return declared(self.frame._meta)

    @cached_property
    def rows(self) -> int:
        """Their number before any step, for which they are all read: it is asked for where it is public.

        Raises
        ------
        ArgumentValueError
        """

        def count() -> int:
            prepare, frame = self._reading(())
            return added(frame, partial(_counted, prepare), sum)  # type: ignore[no-any-return]

        with contextlib.suppress(QueryFailedError):
            return guarded(count, QueryFailedError)  # Dask itself reads cells where it has to find divisions first
        raise ArgumentValueError(UNCOUNTED)

    def lazily(self) -> dd.DataFrame:
        """A Dask DataFrame of the rows after the steps."""
        work = Preparation(self.empty, self.steps)
        made = unchecked(self.frame).map_partitions(work, meta=work(work.empty), enforce_metadata=False)
        return made.clear_divisions()  # which a repr shows: of a plain index the number of rows

    def goes_by(self, dtype: Any, name: str) -> bool:
        """See `Source`: what is said of a column is settled as what Dask declares of it."""
        try:
            return has_dtype(dtype, name) or bool(settled(pd.api.types.pandas_dtype(name)) == dtype)
        except (TypeError, ValueError, NotImplementedError):  # no name that pandas can read
            return False

    def view(self, columns: frozenset[str], nulls: Mapping[str, int | float], unit: str | None = None) -> PandasView:
        """See `Source`."""
        prepare, frame = self._reading(columns, unit)
        made = prepare(prepare.empty)
        names = [name for name in made.columns if name in columns] or list(made.columns[:1])
        kept = made[names]

        def add(summary: ChunkSummary) -> Any:
            unit = summary.unit.column
            if unit is None:
                return added(frame, partial(_summarized, prepare, summary), summary.total)
            if places(kept[unit], 1) is None or not all(map(_moves, kept.dtypes)) or RESERVED in kept:
                return None
            together = by_unit(frame, prepare, kept, unit)
            return added(together, partial(_summarized, partial(grouped, kept), summary), summary.total)

        def read() -> Iterator[pd.DataFrame]:
            return iter([grouped(kept, pd.concat(gathered(frame, partial(_prepared, prepare, names))))])

        def condense(statistic: ByClass) -> PandasView:
            if any(places(kept[name], 1) is None for name in names) or not all(map(_moves, kept.dtypes)):
                return view
            work = Condensing(statistic, nulls)
            return work.view(added(frame, partial(_condensed, prepare, names, work), work.total))

        view = PartitionedView(read, nulls, add)
        view.condense = condense
        return view

    def _reading(self, columns: Iterable[str], unit: str | None = None) -> tuple[Preparation, dd.DataFrame]:
        """What makes some columns of those that are read, and the frame of these."""
        empty = self.empty
        named = set(columns).union(*(step.reads for step in self.steps))
        # not every reader counts the rows of no column; one of numbers is read soonest
        soonest = [*empty.select_dtypes("number").columns, *empty.columns][:1]
        names = [name for name in empty.columns if name in named] or soonest
        return Preparation(empty[names], self.steps, unit), unchecked(self.frame)[names]


@dataclass(frozen=True)
class Preparation:
    """What is done with each partition first: it gets the columns and dtypes that are declared, then steps are applied."""

    empty: pd.DataFrame = field(repr=False)
    steps: tuple[Step, ...]
    unit: str | None = None  # the column of units, where there is one

    def __call__(self, rows: Any) -> pd.DataFrame:
        """Rows of a partition, under new labels, after the steps; see `fitted`."""
        made = fitted(rows, self.empty)
        if self.unit is not None:
            made[self.unit] = whole_units(made[self.unit])
        return applied(self.steps, made)


def _summarized(prepare: Callable[[Any], pd.DataFrame], summary: ChunkSummary, rows: Any, number: int) -> Any:
    """What goes to the driver of a partition."""
    return summary.of(prepare(rows), number)


def _condensed(prepare: Preparation, columns: list[str], work: Condensing, rows: Any, number: int) -> Rows:
    """One row of each class of a partition."""
    return work.of(prepare(rows)[columns])


def _prepared(prepare: Preparation, columns: list[str], rows: Any, number: int = 0) -> pd.DataFrame:
    """Prepared rows that go elsewhere, with forms as objects in place of categories.

    Where categories of several partitions meet, here or in a shuffle of Dask, pandas makes one list of all, or looks whether
    the lists are one. Of whole numbers it makes floats where a row of another part lacks one, and it takes 1.0 and 2.0 for
    "1.0" and "2.0" where each list has one type: a row more would decide whether others are there. Dask hashes the lists.
    """
    made = portable(prepare(rows)[columns])
    for place, dtype in enumerate(made.dtypes):
        if isinstance(dtype, pd.CategoricalDtype):
            cells: Any = made.iloc[:, place].astype(object)
            made.isetitem(place, cells)  # a column: of an array of dates pandas makes dates
    return made  # type: ignore[no-any-return]


def _counted(prepare: Preparation, rows: Any, number: int) -> int:
    """The number of rows of a partition."""
    return len(rows) if isinstance(rows, pd.DataFrame) else 0


def grouped(kept: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that came from elsewhere, under new labels, with columns of categories where `kept` has them; see `_prepared`."""
    made = rows.reset_index(drop=True)
    for place, dtype in enumerate(kept.dtypes):
        if isinstance(dtype, pd.CategoricalDtype):
            made.isetitem(place, conformed(made.iloc[:, place], dtype).array)
    return made


def portable(made: Any) -> Any:
    """The same rows, without objects that cannot go to another process, or not come back: there they would end the question.

    That follows from the cell, and it is missing then whether or not tasks are done in processes.
    """
    if isinstance(made, dict):  # what a shuffle makes of a partition
        return {name: portable(part) for name, part in made.items()}
    if type(made) is tuple or type(made) is list:
        return type(made)(map(portable, made))
    if isinstance(made, pd.Series):
        if made.dtype != np.dtype(object):
            return made
        one = {id(cell): cell for cell in made.array}  # categories that became objects are few
        sent = {key: cell if _travels(cell) else None for key, cell in one.items()}
        cells = objects(sent[id(cell)] for cell in made.array)
        return pd.Series(cells, index=made.index, name=made.name, dtype=object)
    if not isinstance(made, pd.DataFrame):
        return made
    rows = made.copy(deep=False)
    for place, dtype in enumerate(rows.dtypes):
        if dtype == np.dtype(object):
            rows.isetitem(place, portable(rows.iloc[:, place]))
    return rows


def _travels(cell: Any) -> bool:
    with contextlib.suppress(BaseException):  # whatever its own code raises
        if type(cell) in BARE:
            return True
        if shallow(cell, copied=True):
            cloudpickle.loads(cloudpickle.dumps(cell))
            return True
    stop()
    return False


def _moves(dtype: Any) -> bool:
    """Whether rows of a column can be taken out one by one, as a shuffle does, which dictionaries may be too long for."""
    held = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else None
    return held is None or (has_kernel(held) and not pa.types.is_dictionary(held))


def by_unit(frame: dd.DataFrame, prepare: Preparation, kept: pd.DataFrame, unit: str) -> dd.DataFrame:
    """Prepared rows, those of a unit in one partition and those of none left out, shuffled by tasks.

    Tasks that are done again do the same again, which the faster way of Dask, by messages between workers, does not promise.
    """
    count, mark, names = frame.npartitions, PLACE, list(kept.columns)
    while mark in kept:
        mark += "_"

    meta = _prepared(Preparation(kept, ()), names, kept).assign(**{mark: np.empty(0, dtype=np.int64)})
    # behind a guard of its own: where the owner shuffles by messages, tasks have no other one
    work = Guarded(partial(_placed, prepare, names, unit, mark, count))
    placed = frame.map_partitions(work, meta=meta, enforce_metadata=False)
    return placed.shuffle(mark, ignore_index=True, npartitions=count, shuffle_method="tasks")[names]


def _placed(prepare: Preparation, columns: list[str], unit: str, mark: str, count: int, rows: Any) -> pd.DataFrame:
    """Prepared rows that have a unit, and beside them in which partition it belongs."""
    rows = _prepared(prepare, columns, rows)
    place = places(rows[unit], count)
    if place is None:
        raise TypeError
    counted = np.flatnonzero(place >= 0)
    return rows_at(rows, counted).assign(**{mark: place[counted]})


class Failed:
    """What a task gives in place of its result where it failed: workers would log an exception, and that may quote a cell."""


class Guarded:
    """A function of other tasks' results behind a guard; its repr, which schedulers log, shows nothing."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *given: Any) -> Any:
        """The result, or `Failed` where the function, or a task before, failed."""
        if any(isinstance(one, Failed) for one in given):
            return Failed()
        before = hush()  # also in a thread of a scheduler, which the door does not watch
        try:
            with np.errstate(all="ignore"):
                return self._function(*given)
        except BaseException as error:  # readers in other languages raise some that are no Exception
            stop()  # an interrupt that no signal brought is that of a cell: out of here it would end the worker's thread
            if type(error) is getattr(sys.modules.get("distributed"), "Reschedule", None):
                raise  # how a scheduler is asked to try again; it holds no rows
            return Failed()
        finally:
            hush(before)

    def __repr__(self) -> str:
        """Show nothing."""
        return "<guarded>"


def added(frame: dd.DataFrame, work: Callable[[Any, int], Any], total: Callable[[list[Any]], Any]) -> Any:
    """Work on each partition and add up the results, some at a time, where they are.

    Raises
    ------
    QueryFailedError
    """
    graph, keys = _tasks(frame, work)
    level = 0
    while len(keys) > 1:
        level, groups = level + 1, [keys[at : at + TOGETHER] for at in range(0, len(keys), TOGETHER)]
        keys = [(f"{keys[0][0]}-{level}", place) for place in range(len(groups))]
        for key, group in zip(keys, groups, strict=True):
            graph[key] = Task(key, Guarded(partial(_listed, total)), *map(TaskRef, group))
    (result,) = _computed(graph, keys)
    return result


def _listed(total: Callable[[list[Any]], Any], *parts: Any) -> Any:
    return total(list(parts))


def gathered(frame: dd.DataFrame, work: Callable[[Any, int], Any]) -> list[Any]:
    """Work on each partition and bring the results here.

    Raises
    ------
    QueryFailedError
    """
    return _computed(*_tasks(frame, work))


def _tasks(frame: dd.DataFrame, work: Callable[[Any, int], Any]) -> tuple[dict[Any, GraphNode], list[Any]]:
    """Guarded tasks that make the partitions and work on them, and the keys of the results.

    All names are new, so that no other work that the cluster was given is taken for this or the other way round.
    """
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):  # where it was left open
        lowered = optimized(frame)
    nodes = convert_legacy_graph(dict(lowered.__dask_graph__()))
    name = f"pandas_dp-{uuid.uuid4().hex}"
    shuffled = any(type(node).__module__.partition(".")[0] == "distributed" for node in nodes.values())
    # a shuffle by messages is known to schedulers by its names, so its tasks stay what they are
    names = {} if shuffled else {key: (f"{name}-rows", place) for place, key in enumerate(nodes)}
    graph: dict[Any, GraphNode] = dict(nodes) if shuffled else {}
    for key, new in names.items():
        graph[new] = _guarded(new, nodes[key], names, portable)
    needed = {other for node in nodes.values() for other in node.dependencies}
    keys = []
    for number, key in enumerate(lowered.__dask_keys__()):
        then, new = partial(_numbered, work, number), (f"{name}-part", number)
        if shuffled or key in needed:
            graph[new] = Task(new, Guarded(then), TaskRef(names.get(key, key)))
        else:  # in one task, after which the rows are gone
            graph.pop(names[key], None)
            graph[new] = _guarded(new, nodes[key], names, then)
        keys.append(new)
    return graph, keys


def _guarded(name: Any, node: GraphNode, names: dict[Any, Any], then: Callable[[Any], Any]) -> Task:
    """A task of the name that does what a node does, and then something with that."""
    needed = sorted(node.dependencies, key=str)
    # those outside the graph are partitions that a cluster keeps
    return Task(
        name, Guarded(partial(_evaluated, node, needed, then)), *(TaskRef(names.get(key, key)) for key in needed)
    )


def _evaluated(node: GraphNode, needed: list[Any], then: Callable[[Any], Any], *given: Any) -> Any:
    return then(node(dict(zip(needed, given, strict=True))))


def _numbered(work: Callable[[Any, int], Any], number: int, rows: Any) -> Any:
    return work(rows, number)


def _computed(graph: dict[Any, GraphNode], keys: list[Any]) -> list[Any]:
    """Results of some tasks, on the cluster or the scheduler that Dask uses at this moment."""
    results: list[Any] = []
    try:
        results = list(dask.compute(*(Delayed(key, graph) for key in keys)))
    except Exception:  # noqa: BLE001 - what a scheduler says of lost workers, and of rows that it was to keep
        results = [Failed()]
    if any(isinstance(result, Failed) for result in results):
        raise QueryFailedError
    return results
