"""What a question about a column lacks beside what was refused, so that the line to type is answered at once."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.advice import Refused
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import in_numbers
from pandas_dp.facts.call import QUESTION, columns_text
from pandas_dp.facts.chains import completed, first_text, masked
from pandas_dp.facts.checks import BINS, KEYS, ends, months
from pandas_dp.facts.written import code_of, is_expression
from pandas_dp.questions.unknown_names import in_own_columns, missing_question

if TYPE_CHECKING:
    from pandas_dp.facts.kinds import Kind
    from pandas_dp.questions.rows import PreparedFrame

PAIR = "(lower, upper)"
OF_NUMBERS = ("number", "datetime", "timedelta")


def lacking(frame: PreparedFrame, parameters: Iterable[str], values: Mapping[str, Any]) -> dict[str, str]:
    """Bounds, bins and keys of a call that neither it nor a schema has, as they are typed.

    Parameters
    ----------
    frame : PreparedFrame
    parameters : iterable of str
        Those of the question.
    values : mapping
        What was typed, and what the line names as it is typed: a column as its name, or that name in quotes.
    """
    found: dict[str, str] = {}
    takes = {*parameters}
    with suppress(PandasDPError):  # without a session nothing is known of a schema, and the line says what it can
        for argument in ("by", "column"):
            if (column := _named(frame, values.get(argument))) is not None:
                found |= _of_column(frame, column, argument, takes, values)
        if (rows := _named(frame, values.get("index"))) and (columns := _named(frame, values.get("columns"))):
            typed = {name: values[name] for name in ("keys", "bins") if isinstance(values.get(name), Mapping)}
            listed = {name for of in typed.values() for name in of}
            parts = needed_parts(frame, {column: frame._kind(column) for column in (rows, columns)}, listed)
            found |= {name: text for name, text in parts if text}
        by = values.get("by")
        if isinstance(by, list):
            parts = needed_parts(frame, {column: frame._kind(column) for column in by}, ())
            found |= {name: text for name, text in parts if text and values.get("keys") is values.get("bins") is None}
        if values.get("keys") is not None and {"x", "y", "bounds"} <= takes:
            found |= _pairs(frame, values)
        value = _named(frame, values.get("values"))
        if value and values.get("bounds") is None and values.get("aggfunc") != "count":
            found |= (
                {"bounds": PAIR} if frame._kind(value).name != "bool" and frame._facts(value).bounds is None else {}
            )
    return found


def completed_line(frame: PreparedFrame, name: str, price: str = "", meant: str = "", of: type | None = None) -> str:
    """The question, `of` groups or the frame, with its price and what it lacks, where a name was not found; see `completed`."""

    def needs(call: ast.Call, question: str, column: str | None) -> dict[str, str]:
        return needed(frame, of or type(frame), call, question, column)

    return completed(name, frame, price, needs, meant)


def needed(frame: PreparedFrame, of: type, call: ast.Call, question: str, column: str | None) -> dict[str, str]:
    """What the call of a question lacks, of a column that is selected, or of what is `of` some class."""
    method = getattr(of, question, None)
    if method is None:
        return {}
    parameters = dict(list(inspect.signature(method).parameters.items())[1:])
    values: dict[str, Any] = {} if column is None else {"column": column}
    free = [one for one in parameters if one not in values]
    try:
        values |= {one: ast.literal_eval(node) for one, node in zip(free, call.args, strict=False)}
        values |= {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError):  # what a variable holds is not looked at, and a list is no key of a dict
        return {}
    missing = [one for one in free if parameters[one].default is inspect.Parameter.empty or one == "columns"]
    more = Refused(question, parameters, frame, (), values).completed(one for one in missing if one not in values)
    return more if all(map(is_expression, more.values())) else {}


def chosen(frame: PreparedFrame, name: str = "") -> str:
    """What is said of a mask, in brackets or behind a name: how rows are chosen; no text where it cannot be read."""
    line = masked(frame, name) if name in ("", "loc", "where", "mask") else ""
    return f"rows are chosen by a condition in query(): {line}" if line else ""


def unknown(frame: PreparedFrame, name: str, computed: Callable[..., str]) -> str:
    """What is said of a name that is no question: what to type, of a column and of a misspelt one with all that it lacks."""
    if told := chosen(frame, name):
        return told
    if name in frame._empty():
        line = computed(frame, name, ast.Attribute) or completed_line(frame, name) or f"df.dp(epsilon=0.5)[{name!r}]"
        return f"{name!r} is a column; select it: {line}"
    column = first_text(name)
    column = column if column in frame._empty() else "column"
    if name == "hist" and (line := completed_line(frame, name, meant="histogram")):
        return f".dp has no 'hist': ask {line} and type .plot() after the answer"
    hint = in_own_columns(frame, missing_question(type(frame), name, f"{column!r}, "))
    meant = hint.partition("; did you mean '")[2].partition("'")[0]
    line = completed_line(frame, name, meant=meant) if meant else ""
    return f"{hint.partition('? ')[0]}?: {line}" if line else hint


def _pairs(frame: PreparedFrame, values: Mapping[str, Any]) -> dict[str, str]:
    """Bounds of the columns of numbers in a regression that have none."""
    explaining, bounds = values.get("x"), values.get("bounds")
    typed = {*bounds} if isinstance(bounds, Mapping) else set()
    columns = [values.get("y"), *(explaining if isinstance(explaining, list) else [explaining])]
    numbers = [name for name in columns if name in frame._empty() and frame._kind(name).name == "number"]
    pairs = [f"{name!r}: {PAIR}" for name in numbers if name not in typed and frame._facts(name).bounds is None]
    return {"bounds": f"{{{', '.join(pairs)}}}"} if pairs else {}


def by_column(
    frame: PreparedFrame, call: str, columns: Any, bounds: Any, kinds: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of several columns, of these kinds alone, and the bounds of each that were typed."""
    if isinstance(columns, str | bytes) or not isinstance(columns, Sequence | pd.Index) or not len(columns):
        raise ArgumentTypeError("columns must be a list of column names")
    if bounds is not None and not isinstance(bounds, Mapping):
        line = frame._bounds_line(call, columns, bounds)
        raise line.refuse("bounds must be a dict with a pair for each column")
    names, given = tuple(columns), dict(bounds or {})
    for name in names:
        if (kind := frame._kind(name)).name not in (kinds or (kind.name,)):
            raise ArgumentTypeError(f"{call}() needs columns of numbers; {in_numbers(kind, name)}")
    if len(set(names)) != len(names) or set(given) - set(names):
        raise ArgumentValueError("columns must be distinct, and bounds= may name only these columns")
    return names, given


def bounds_together(frame: PreparedFrame, columns: list[str], given: Any) -> str:
    """Bounds of several columns as they are typed: of those that have none a pair, of others their code, if it can be read.

    What was given may be one pair, which then stands for each.
    """
    several, known = isinstance(given, Mapping), frame._empty()
    given = given if several else dict.fromkeys(columns, given)
    lacking = [
        name for name in columns if given.get(name) is None and name in known and frame._facts(name).bounds is None
    ]
    held = [of for of, pair in given.items() if pair is not None and of in known]
    pairs = dict.fromkeys((*held, *(lacking or (() if held else columns))), PAIR)
    if lacking or not several:
        fits = [of for of in held if _fits(frame, of, given[of])]
        pairs |= {of: code for of in fits if (code := code_of("bounds", of if several else None))}
    return f"{{{', '.join(f'{name!r}: {pair}' for name, pair in pairs.items())}}}"


def _fits(frame: PreparedFrame, column: str, pair: Any) -> bool:
    """Whether bounds are ones of the column."""
    with suppress(PandasDPError):
        lower, upper = ends(pair, frame._kind(column), frame._facts(column), "", Line(""))
        return bool(lower < upper)
    return False


def _named(frame: PreparedFrame, typed: Any) -> str | None:
    """The column that an argument names, as its name or as that in quotes."""
    names = [name for name in frame._empty() if isinstance(name, str)] if isinstance(typed, str) else []
    return next((name for name in names if typed in (name, repr(name))), None)


def needed_parts(
    frame: PreparedFrame, kinds: Mapping[str, Kind], listed: Collection[str]
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Keys and bins, as they are typed, of columns whose keys are known from nowhere; no text where none are."""
    missing = {
        column: kind.name
        for column, kind in kinds.items()
        if not (kind.name == "bool" or column in listed or frame._facts(column).keys is not None)
    }
    bins = {
        column: months(frame._facts(column)) if name == "datetime" else BINS[name]
        for column, name in missing.items()
        if name in BINS
    }
    keys = {column: KEYS["key"] for column in missing if column not in bins}
    typed = [", ".join(f"{column!r}: {example}" for column, example in of.items()) for of in (keys, bins)]
    return ("keys", f"{{{typed[0]}}}" if keys else ""), ("bins", f"{{{typed[1]}}}" if bins else "")


def together(frame: PreparedFrame, columns: list[Any]) -> PandasDPError:
    """What is said of columns that are to be counted together: groups of all of them."""
    parts = needed_parts(frame, {column: frame._kind(column) for column in columns}, ())
    needs = tuple(part for part in parts if part[1])
    line = f".groupby({', '.join([columns_text(tuple(columns)), *(f'{name}={text}' for name, text in needs)])}).size()"
    return Line(line, ((QUESTION, "groupby.size"), *needs, ("normalize", ""), ("sort", ""))).refuse(
        "combinations of columns are counted by groups, whose shares are free: sizes / sizes.sum()"
    )


def _of_column(
    frame: PreparedFrame, column: str, argument: str, takes: set[str], values: Mapping[str, Any]
) -> dict[str, str]:
    """What one column needs, of the arguments that a call takes and does not have."""
    kind, facts = frame._kind(column).name, frame._facts(column)
    free = {name for name in takes if values.get(name) is None}
    if kind not in OF_NUMBERS or argument == "by":
        listed = kind == "bool" or facts.keys is not None or frame._price.delta or values.get("bins") is not None
        return {"keys": KEYS.get(kind, KEYS["key"])} if "keys" in free and not listed else {}
    if values.get("prices") is not None:
        return {}
    between = type(values.get("bins")) is int or "by" in takes or not {"bins", "keys"} & takes
    ends = {"bounds", "range"} & {name for name in takes if values.get(name) is not None}
    if "bounds" in free and facts.bounds is None and between and not ends:
        return {"bounds": PAIR}
    binned = "bins" in free and values.get("keys") is None and facts.keys is None
    return {"bins": "10" if ends else BINS[kind]} if binned else {}
