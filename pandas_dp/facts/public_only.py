"""Public facts are no columns of a protected table and no numbers of it: the one place where arguments are checked for that.

This catches mistakes of people who may see the rows, before anything is charged: an argument that was made of private cells
is no public fact, whether or not it is recognised. The mark tells, which pandas hands on, never memory: whether a column
shares that of a public one after ``df.dropna()`` follows from its cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MappingView, Sequence, Set
from fractions import Fraction
from types import EllipsisType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.extensions import ExtensionArray

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

DEEPEST = 10  # lists within lists, such as one that holds itself
ATTRIBUTE = "pandas_dp"  # in ``attrs``: the mark of a protected table, and of what pandas makes of one
READ = "pandas_dp_read"  # there, too: the mark of files that a frame, or what pandas made it of, was read from
QUICK = {str, int, float, bool, type(None)}  # types of most arguments and entries, which need no second look
Array = pd.Series | pd.Index | np.ndarray | ExtensionArray
Held = pd.DataFrame | Array
PERIODS = "pd.period_range('2026-01', '2026-12', freq='M')"
EXAMPLES = {  # how arguments are typed
    "epsilon": "0.5",
    "protect epsilon": "3",
    "neighbors": "'add_remove'",
    "unit": "'patient_id'",
    "bounds": "(0, 100)",
    "bins": "range(0, 101, 10)",
    "workload": "'bins'",
    "keys": "['A', 'B']",
    "k": "3",
    "score": "'bid >= candidate'",
    "prices": "[1, 2, 5]",
    "candidates": "[10, 20]",
    "vertices": "['A', 'B']",
    "reason": "'...'",  # why, in the words of who asks: what is made up would stay on record
    "name": "'visits'",
    "within": "20",
    "max": "5",
    "threshold": "1000",
    "max_weight": "10",
    "sensitivity": "largest_change",  # a promise, which only its maker can give a number for
}

OR_ASK = {  # the answers that are public
    "keys": ", or ask for them: df.dp(epsilon=0.5, delta=1e-7).unique('ward')",
    "bounds": ", or buy them: bounds='private'",
}
COLUMNS = ("by", "index", "columns", "column", "values", "y")  # these are named by text


def mark_of(frame: pd.DataFrame | pd.Series[Any]) -> str | None:
    """The mark that pandas hands on from a protected table to whatever is made of it."""
    return str(frame.attrs[ATTRIBUTE]) if ATTRIBUTE in frame.attrs else None


def quick(value: Any) -> bool:
    """Whether a value is one of Python's own plain ones, or a list of them."""
    return type(value) in QUICK or (type(value) in (list, tuple) and QUICK.issuperset(map(type, value)))


def is_private(value: Any, depth: int = 0) -> bool:
    """Whether an argument is, or lists, a protected table or column, or one that carries the mark of such a table.

    Lists, arrays, indexes and numbers carry no mark and are not recognised.
    """
    if quick(value):
        return False
    if isinstance(value, pd.DataFrame | pd.Series):
        return mark_of(value) is not None
    if isinstance(value, Mapping):
        return depth <= DEEPEST and any(is_private(entry, depth + 1) for entry in value.values())
    return _lists(type(value)) and any(is_private(entry) for entry in value if isinstance(entry, Held))


def comparable(value: Any) -> bool:
    """Whether a value is equal to another one or is not: arrays, expressions of pandas and NA answer with something else."""
    if isinstance(value, Held):  # none of their cells is read
        return False
    try:
        return isinstance(value == value, bool | np.bool_)
    except Exception:  # noqa: BLE001 - a signalling NaN, or whatever a class of the user's own says of itself
        return False


def legible(text: Any) -> bool:
    """Whether a value is text that can be written down, as labels of pandas have to be: half of a surrogate pair cannot."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def python(value: Any) -> Any:
    """A scalar of NumPy as one of Python or pandas; anything else as it is."""
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


def listed(value: Any) -> bool:
    """Whether a value has entries, one after the other.

    Text is one value, and what looks like a list may have none: an array without dimensions, an expression of pandas.
    """
    if isinstance(value, str | bytes | pd.api.typing.Expression) or not isinstance(value, Iterable):
        return False
    return not isinstance(value, np.ndarray) or value.ndim > 0


def refuse_private(call: str, arguments: Iterable[tuple[str, Any]]) -> None:
    """Refuse protected tables and columns, and what was made of them, where public facts are asked for.

    Parameters
    ----------
    call : str
        What was called.
    arguments : iterable of (name, value)

    Raises
    ------
    ArgumentValueError
        It names the argument and says nothing of its content.
    """
    given = dict(arguments)
    for name, value in given.items():
        if is_private(value) or (name in COLUMNS and _named(value)):
            if name in COLUMNS:
                raise _column_by_name(call, name, given)
            line = f"{name}={EXAMPLES.get(name, '...')}"
            raise ArgumentValueError(
                f"{call}: {name} must be public, and a table or column that is protected, or was made from one, is not: type "
                f"what a codebook or common knowledge says, {line}{OR_ASK.get(name, '')}"
            )


def _named(value: Any) -> str:
    """The name of a column that is given itself, of a table or of what has a price; no text for anything else."""
    name = value.name if isinstance(value, pd.Series) else getattr(type(value), "_column", None) and value._column
    return name if isinstance(name, str) else ""


def _column_by_name(call: str, name: str, given: Mapping[str, Any]) -> ArgumentValueError:
    """What is said of a column that was given itself, and the names of all that were."""
    named = {other: column for other, value in given.items() if other in COLUMNS and (column := _named(value))}
    months = call == "groupby" and isinstance(given[name], pd.Series) and isinstance(given[name].dtype, pd.PeriodDtype)
    why = f"{call}: months are bins of a column of dates" if months else f"{call}: a column is given by its name"
    error = ArgumentValueError(f"{why}, {name}={named.get(name, 'ward')!r}{f', bins={PERIODS}' if months else ''}")
    if name in named:
        bins = (("bins", PERIODS),) if months else ()
        error._needs = why, (*((other, repr(column)) for other, column in named.items()), *bins), ""
    return error


UNORDERED = (Set, MappingView)
HOLDS = (np.generic, pa.Scalar, EllipsisType, np.ndarray, Mapping, *UNORDERED, pd.Interval, Fraction, range)
LONGEST = 10_000_001  # numbers of a range: edges of the most bins that there may be
DOTS = " .\u2026"  # which stand for words in a line of advice
IN_WORDS = ("reason", "name")  # of which advice leaves the text to the user
# how public facts are shown: what builds them, as int(...) or sorted(...), would take cells as well
FACTS = {"bounds": "(lower, upper)", "keys": "['A', 'B']"}


def check_typed(value: Any, where: str = "", name: str = "") -> None:
    """Refuse scalars of NumPy and Arrow where public facts are typed: nobody types one, and what is computed of rows is one.

    Sets are refused as well as arguments, which have a `name`: in each process they list their entries in another order.

    What is typed is published in the text of the question, so ``lambda d: d.age > df.age.mean()`` would publish the mean.
    Arrays are looked at as a whole, whatever they hold: edges and keys are made in arrays, and one value of a column is none.
    Plain numbers, texts and dates carry no mark and are not recognised.

    So are ranges of more numbers than any call takes, before a list is made of them, which no memory may hold.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        It says where, if `where` does, and the type, never the value.
    """
    scalar = _scalar(value)
    if scalar is None and name not in IN_WORDS:
        return
    dots = name in IN_WORDS and isinstance(value, str) and value.strip() and not value.strip(DOTS)
    if scalar is ... or dots:
        line = EXAMPLES.get(f"{where.partition(':')[0]} {name}", _each(EXAMPLES, name, value))
        line = "" if line is None else ": why, in your own words" if name == "reason" else f": {name}={line}"
        raise ArgumentTypeError(
            f"{where}{'...' if scalar is ... else repr(value)} is a placeholder; type the value itself{line}"
        )
    if isinstance(scalar, range):
        what = where.replace(" must be written out as plain values: ", ": ")
        raise ArgumentValueError(f"{what}no call takes a range of more than {LONGEST:,} numbers")
    if isinstance(scalar, UNORDERED):
        if not name:  # a constant of a step, where .isin({'a', 'b'}) alone takes one, and asks the same in any order
            return
        view = isinstance(scalar, MappingView)
        why = "changes with its dict" if view else "has no fixed order, so a rerun would count as a different question"
        raise ArgumentTypeError(
            f"{where}a {type(scalar).__name__} {why}: list what it holds, {name}={FACTS.get(name, '[...]')}"
        )
    if scalar is not None:
        library, kind = ("np", scalar.dtype.kind) if isinstance(scalar, np.generic) else ("pa", "")
        found = f"{library}.{type(scalar).__name__} is a {'NumPy' if kind else 'pyarrow'} scalar"
        line = f", {name}={_each(FACTS, name, value)}" if name in FACTS else ""
        raise ArgumentTypeError(
            f"{where}{found}, which may have been computed from the rows; everything you type is published. If it is "
            f"public knowledge, type the value itself{line}"
        )


def _each(examples: Mapping[str, str], name: str, value: Any) -> str | None:
    """How an argument is typed, by column where it was."""
    example = examples.get(name)
    if name not in ("keys", "bins", "bounds") or not isinstance(value, Mapping):
        return example
    return f"{{{', '.join(f'{column!r}: {example}' for column in value if isinstance(column, str))}}}"


def entries(given: Iterable[Any], name: str) -> Iterable[Any]:
    """The entries of a public list, which may be one that goes by once, checked as those of a list are."""
    if isinstance(given, Held | tuple):
        return given
    kept = tuple(given)
    check_typed(kept, f"{name} must be written out as plain values: ", name)
    return kept


def check_all_typed(call: str, arguments: Iterable[tuple[str, Any]]) -> None:
    """Do that for the arguments of a call, by their names."""
    for name, value in arguments:
        check_typed(value, f"{call}: {name} must be written out as plain values: ", name)


def _scalar(value: Any, depth: int = 0) -> Any:
    """A scalar of NumPy or Arrow, a set or a long range: the value or one in it; None for none, and where no call takes it."""
    if quick(value):
        return None
    if isinstance(value, np.generic | pa.Scalar | EllipsisType):
        return value
    if isinstance(value, range):
        return value if value[LONGEST:] else None
    if isinstance(value, UNORDERED):
        found = _scalar(tuple(value), depth)  # type: ignore[arg-type]  # views can be looked through
        return value if found is None else found
    if isinstance(value, np.ndarray):
        # as a plain array, because others, such as what is masked, give themselves; and objects may hold themselves
        return _scalar(np.asarray(value)[()], depth + 1) if value.ndim == 0 and depth <= DEEPEST else None
    if isinstance(value, Mapping):
        return _scalar([*value, *value.values()], depth)
    if isinstance(value, pd.Interval):
        return _scalar((value.left, value.right), depth)
    if isinstance(value, Fraction):
        return _scalar((value.numerator, value.denominator), depth)
    if not _lists(type(value)) or depth > DEEPEST:
        return None
    # of millions most are plain
    odd = {kind for kind in set(map(type, value)) if issubclass(kind, HOLDS) or _lists(kind)}
    looked = (entry for entry in value if type(entry) in odd) if odd else ()
    return next((found for entry in looked if (found := _scalar(entry, depth + 1)) is not None), None)


def _lists(kind: type) -> bool:
    """Whether values of a class list others, which may be anything."""
    return issubclass(kind, Sequence) and not issubclass(kind, str | bytes | range)


PLAIN_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64")


def plain_entries(edges: Iterable[Any]) -> Any:
    """Edges as a list, or all at once where they are an array of plain numbers."""
    edges = entries(edges, "bins")
    edges = edges.to_numpy() if isinstance(edges, pd.Index | pd.Series) and str(edges.dtype) in PLAIN_DTYPES else edges
    plain = type(edges) is np.ndarray and edges.ndim == 1 and str(edges.dtype) in PLAIN_DTYPES
    return edges if plain else tuple(edges)
