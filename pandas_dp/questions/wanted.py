"""Which answers agg is asked for: its dict of functions by column, or answers by name, checked.

Several columns of a priced frame or its groups, taken together, ask it one question about each of them.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, closest, did_you_mean
from pandas_dp.facts.advice import Refused, show_line
from pandas_dp.facts.argument_help import Line, explain, uncopied
from pandas_dp.questions.lacking import together
from pandas_dp.questions.rows import PreparedFrame

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame
    from pandas_dp.questions.groups import PricedGroups


BOUNDED = ("sum", "mean", "var", "std", "median", "min", "max")
FUNCTIONS = ("count", "nunique", *BOUNDED)
BARRED = ("median", "min", "max")  # whose error bars are bought
MOST_PARTS = 100
OPTIONS = ("bounds", "weights", "within", "error_bar")
AGG = "agg({'income': ['mean', 'std'], 'age': 'median'}, bounds={'income': (0, 100_000), 'age': (0, 120)})"
SIZE = "; 'count' counts the rows with a value in the column; to count all rows, ask .size()"
ROW = "; a smallest or largest value of a group is that of one row, near it is .quantile(0.99, bounds=(lower, upper))"
OWN = "a function of your own is asked by .sample_and_aggregate(function, bounds=(lower, upper))"
NAMED = "agg(typical=('income', 'median'), bounds={'income': (0, 100_000)})"


class Wanted(NamedTuple):
    """One cell of an answer: its row, its column and the function that fills it."""

    row: str
    column: str
    function: str


def wanted_of(
    frame: PreparedFrame,
    func: Any,
    named: dict[str, Any],
    functions: tuple[str, ...] = FUNCTIONS,
    selected: str | None = None,
) -> tuple[list[Wanted], bool]:
    """Cells in the order written, and whether each column has one function that is no list."""
    if func is None and not named:
        raise ArgumentTypeError(f"func must be a dict of functions by column: {AGG}, or names: {NAMED}")
    pairs = isinstance(func, Mapping) and [of for of in func.values() if isinstance(of, tuple) and len(of) == 2]
    if pairs and not any(isinstance(end, str) for pair in pairs for end in pair):
        raise Line(AGG, (("func", ""), ("bounds", "=func"))).refuse("func names functions by column; bounds go by name")
    if func is not None and named:
        if closest(first := next(iter(named)), OPTIONS):
            raise _misnamed(frame, first, named[first], functions)
        instead = dict.fromkeys(named, "")
        if any(isinstance(pair, tuple | list) for pair in named.values()):
            raise Line(AGG, (*instead.items(),)).refuse("give either func=, a dict by column, or named answers")
        why = f"agg() takes no {first}="
        if first == "population" and isinstance(func, Mapping):
            asked = {name: [of] if isinstance(of, str) else [*of] for name, of in func.items()}
            instead["func"] = repr(
                {name: of + ["std"] * ("mean" in of and "std" not in of) for name, of in asked.items()}
            )
            why += "; 'std' beside 'mean' gives the interval of a population"
        raise Line(AGG, (*instead.items(),)).refuse(why)
    if named:
        if selected is not None and all(isinstance(of, str) and of in functions for of in named.values()):
            needs = tuple((name, f"({selected!r}, {of!r})") for name, of in named.items())
            if {*named.values()} & {*BOUNDED} and frame._facts(selected).bounds is None:
                needs = (*needs, ("bounds", f"{{{selected!r}: (lower, upper)}}"))
            raise Line(NAMED, needs).refuse("a named answer takes a column and a function")
        for name, pair in named.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(of, str) for of in pair):
                raise _misnamed(frame, name, pair, functions)
        wanted = [Wanted(name, *pair) for name, pair in named.items()]
        single = False
    else:
        if not isinstance(func, Mapping) or not func:
            raise ArgumentTypeError(f"func must be a dict of functions by column: {AGG}")
        lists = {column: [names] if isinstance(names, str) else names for column, names in func.items()}
        if any(map(callable, lists.values())):
            raise ArgumentTypeError(f"func names functions by text: {', '.join(functions)}; {OWN}")
        if any(not isinstance(names, Sequence) or not names for names in lists.values()):
            raise ArgumentTypeError(f"func must name functions by text, one or a list for each column: {AGG}")
        wanted = [Wanted(name, column, name) for column, names in lists.items() for name in names]
        single = all(isinstance(names, str) for names in func.values())
    for cell in wanted:
        if not isinstance(cell.column, str):
            raise ArgumentTypeError(f"func must name columns by their text: {AGG}")
        if not isinstance(cell.function, str) or cell.function not in functions:
            text = cell.function if isinstance(cell.function, str) else ""
            near = "count" if text == "size" else "" if text in FUNCTIONS else closest(text, functions)
            close = SIZE if text == "size" else f"; did you mean {near!r}?" if near else ROW * (text in FUNCTIONS)
            if text in FUNCTIONS:  # which groups have not got
                less = tuple((one.row, "") for one in wanted if named and one.function == text)
                less = less if len(less) < len(wanted) else ()
                if named or {one.function for one in wanted} == {text}:
                    error = ArgumentValueError(f"groups have {', '.join(functions)}{close}")
                    error._needs = (str(error), less, "") if less else None
                    raise error
            if named and text == "size":
                full = frame._full() or cell.column
                raise Line(NAMED, ((cell.row, f"({full!r}, 'count')"),)).refuse(f"'size' is no function here{SIZE}")
            if named and (not near or cell.column not in frame._empty()):
                raise _misnamed(frame, cell.row, None, functions)
            error = ArgumentValueError(f"func may be {', '.join(functions)}{close}: {AGG}")
            error._slip = (text, near) if near else None
            raise error
    if len(set(wanted)) != len(wanted):
        raise ArgumentValueError(f"func must ask each function of a column once: {AGG}")
    if len(wanted) > MOST_PARTS:
        raise ArgumentValueError(f"agg() gives at most {MOST_PARTS} answers for one price")
    return wanted, single


def _misnamed(frame: PreparedFrame, name: str, pair: Any, functions: tuple[str, ...]) -> PandasDPError:
    """What a named answer takes, or what the option is called that it was meant for."""
    takes = f"a named answer takes a column and a function: {', '.join(functions)}"
    if (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(getattr(pair[1], "__name__", None), str)  # of an expression of pandas that is one, too
        and pair[0] in frame._empty()
    ):
        named, column = pair[1].__name__, pair[0]
        if pair[1] is len:
            named, column = "count", frame._full() or column
        if named in functions:
            return Line(NAMED, ((name, f"({column!r}, {named!r})"),)).refuse(takes)
        return ArgumentTypeError(f"{takes}; {OWN}")
    option = closest(name, OPTIONS)
    if option:
        return Line(f"agg(..., {option}=...)", ((name, ""), (option, f"={name}"))).refuse(
            f"agg() takes {option}=, not {name}="
        )
    columns = [*itertools.chain(*frame._examples())]
    return Line(NAMED, ((name, f"({columns[0]!r}, 'count')"),)).refuse(takes)


TOGETHER = ("describe", "cov", "corr")  # questions of the frame that take a list of columns
LINE = "df.dp(epsilon=0.5)[['age', 'cost']].mean(bounds={'age': (0, 120), 'cost': (0, 5000)})"


@explain
class PricedColumns:
    """Selected columns of a priced frame: ``df.dp(epsilon=1)[["age", "cost"]].mean(bounds={...})`` is an ``agg`` of them.

    Of groups likewise: ``df.dp(epsilon=1).groupby("sex", keys=["f", "m"])[["age", "cost"]].mean(bounds={...})``.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000, "cost": [10, 20, 60] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="priced columns example")
    >>> means = df.dp(epsilon=2)[["age", "cost"]].mean(bounds={"age": (0, 100), "cost": (0, 100)})
    >>> means.round(-1).to_dict()
    {'age': 50.0, 'cost': 30.0}
    """

    __slots__ = ("_asked", "_columns", "_frame")

    __reduce__ = uncopied

    def __init__(self, asked: PricedFrame | PricedGroups, frame: PricedFrame, columns: list[Any]) -> None:
        if not columns or not all(isinstance(column, str) for column in columns) or len(set(columns)) != len(columns):
            raise ArgumentTypeError(f"select columns by a list of different names: {LINE}")
        for column in columns:
            frame._dtype(column)
        self._asked, self._frame, self._columns = asked, frame, tuple(columns)

    @property
    def _before(self) -> str:
        """What stands before the call of a question."""
        return f"{self._asked._before.removesuffix('.')}[{list(self._columns)!r}]."

    def __repr__(self) -> str:
        """Say what one call costs."""
        return f"{self._asked!r}[{list(self._columns)!r}]"

    def __dir__(self) -> list[str]:
        """What can be asked."""
        return [*super().__dir__(), *FUNCTIONS, *TOGETHER, "agg"]

    def __getattr__(self, name: str) -> Any:
        """A question about each of the columns, which share the price equally."""
        if (
            name in TOGETHER
            and (missing := getattr(self._asked, "_missing", None))
            and name not in dir(type(self._asked))
        ):
            raise AttributeError(missing(name, "", self._columns))
        if name in (*FUNCTIONS, *TOGETHER):
            return partial(self._put, name)
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "value_counts" and self._asked is self._frame:
            raise AttributeError(str(together(self._frame, [*self._columns])))
        close = did_you_mean(name, (*FUNCTIONS, *TOGETHER)) or f"; there are {', '.join((*FUNCTIONS, *TOGETHER))}"
        raise AttributeError(f"several columns have no {name!r}{close}: {LINE}")

    def _put(self, name: str, *args: Any, **options: Any) -> Any:
        """A question about all of the columns, or one function of each; a refusal shows this call, not that of `agg`."""
        method, first = (getattr(self._asked, name), [*self._columns]) if name in TOGETHER else (self.agg, name)
        try:
            return method(first, *args, **options)
        except PandasDPError as error:
            with suppress(Exception):  # see `explain`
                own = dict(list(inspect.signature(method).parameters.items())[1:])
                show_line(error, Refused(name, own, self, args, options))
            del self, method
            raise

    def agg(self, func: Any, *, bounds: Any = None, **options: Any) -> Any:
        """Ask one function or a list of them of each column; see `PricedFrame.agg`."""
        alone = len(self._columns) == 1 and bounds is not None and not isinstance(bounds, Mapping)
        given = {self._columns[0]: bounds} if alone else bounds
        return self._asked.agg(dict.fromkeys(self._columns, func), bounds=given, **options)
