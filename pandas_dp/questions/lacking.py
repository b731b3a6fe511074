"""What a question about a column lacks beside what was refused, so that the line to type is answered at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pandas_dp.errors import PandasDPError
from pandas_dp.facts.checks import BINS, KEYS

if TYPE_CHECKING:
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
            names = (name for name in frame._empty() if isinstance(name, str))
            column = next((name for name in names if values.get(argument) in (name, repr(name))), None)
            if column is not None:
                found |= _of_column(frame, column, argument, takes, values)
    return found


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
    if "bounds" in free and facts.bounds is None and between:
        return {"bounds": PAIR}
    return {"bins": BINS[kind]} if "bins" in free and values.get("keys") is None and facts.keys is None else {}
