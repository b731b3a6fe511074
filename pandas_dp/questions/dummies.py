"""Columns of categories in a regression: for each public key but the first a column that is 1 in its rows and 0 in others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pandas_dp.errors import ArgumentValueError, did_you_mean
from pandas_dp.facts import checks
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_text
from pandas_dp.questions.rows import PreparedFrame

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame

CALL = "linear_regression"


class Explaining(NamedTuple):
    """What explains: columns of numbers, those of categories as dummies.

    Attributes
    ----------
    frame : PricedFrame
        With the dummies, and with what its answers say of keys from the schema.
    names : tuple of str
    bounds : dict of str to pair
        Of the dummies.
    """

    frame: PricedFrame
    names: tuple[str, ...]
    bounds: dict[str, tuple[int, int]]


def with_dummies(frame: PreparedFrame, y: str, columns: Sequence[str], keys: Any) -> Explaining:
    """Dummies named as by ``pandas.get_dummies(..., drop_first=True)``; missing in rows that have none of the keys.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a column of text has no public keys, or fewer than two, or a dummy has the name of another column.
    """
    kinds = {column: frame._kind(column) for column in columns}
    texts = [column for column, kind in kinds.items() if kind.name == "key"]
    lacking = [column for column in texts if frame._facts(column).keys is None]
    shown = dict.fromkeys(lacking or texts or columns[:1], checks.KEYS["key"])
    typed = f"{{{', '.join(f'{column!r}: {example}' for column, example in shown.items())}}}"
    line = Line(f"{CALL}({y!r}, {list(columns)}, keys={typed}, bounds=...)", (("keys", typed),))
    if keys is not None and not isinstance(keys, Mapping):
        raise line.refuse("keys= is a dict with the list of keys of each column of categories")
    given = {} if keys is None else dict(keys)
    for name in given if columns else ():
        if name not in kinds:
            close = did_you_mean(name, kinds) if isinstance(name, str) else ""
            more = repr([*columns, name])
            needs = (("x", more),) if name in frame._empty() else (("keys", typed),)
            other = Line(f"{CALL}({y!r}, {more}, keys=..., bounds=...)", needs)
            raise other.refuse(f"keys= names a column that is not in x{close}", ArgumentValueError)
    listed: list[str] = []
    names: list[str] = []
    dummies: dict[str, Any] = {}
    for column, kind in kinds.items():
        if kind.name != "key" and given.get(column) is None:
            names.append(column)
            continue
        own = line._replace(otherwise=of_text(kind, column))
        by, _ = frame._keys(CALL, column, given.get(column), False, False, own)
        if len(by.keys) < 2:
            raise line.refuse(
                f"{column!r} needs two keys or more: the others are compared with the first",
                ArgumentValueError,
            )
        listed.append(column)
        for key in by.keys[1:]:
            name = f"{column}_{key}"
            values = {other: float(other == key) for other in by.keys}
            dummies[name] = lambda d, column=column, values=values: d[column].map(values)
            names.append(name)
    taken = [name for name in dummies if name in frame._empty() or name == y or names.count(name) > 1]
    if taken:
        raise ArgumentValueError(
            f"{CALL}: the column {taken[0]!r} is there already: .rename({{{taken[0]!r}: ...}}) it first"
        )
    if not dummies:
        return Explaining(frame._then(()), tuple(names), {})
    made = frame._from_schema(listed, given)._filled(listed).assign(**dummies)
    return Explaining(made, tuple(names), dict.fromkeys(dummies, (0, 1)))
