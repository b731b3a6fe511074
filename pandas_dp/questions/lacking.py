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
    with suppress(PandasDPError):  # without a session nothing is known of a schema, and the line says what it can
        for argument in ("by", "column"):
            column = next((name for name in frame._empty() if values.get(argument) in (name, repr(name))), None)
            if column is not None:
                found |= _of_column(
                    frame, column, argument, {name for name in parameters if values.get(name) is None}, values
                )
    return found


def _of_column(
    frame: PreparedFrame, column: str, argument: str, free: set[str], values: Mapping[str, Any]
) -> dict[str, str]:
    """What one column needs, of the arguments that are free."""
    kind, facts = frame._kind(column).name, frame._facts(column)
    if kind not in OF_NUMBERS or argument == "by":
        listed = kind == "bool" or facts.keys is not None or frame._price.delta or "keys" not in free
        return {} if listed or values.get("bins") is not None else {"keys": KEYS.get(kind, KEYS["key"])}
    if "bounds" in free and facts.bounds is None and (type(values.get("bins")) is int or not {"bins", "keys"} & free):
        return {"bounds": PAIR}
    if "bins" in free and values.get("keys") is None and facts.keys is None:
        return {"bins": BINS[kind]}
    return (
        {"bounds": PAIR}
        if argument == "column" and "by" in values and "bounds" in free and facts.bounds is None
        else {}
    )
