"""Parts of a budget: each is a budget of its own that the whole one paid for when the part was made.

A part is a filter of plain epsilons. Whatever it ever admits is one mechanism of its total, so the whole budget is charged that
total once, before anything is asked of the part.

Of a budget for each period a part is set aside in periods that are named, of which each pays the total of the part, and the
part has a filter for each period as well. Its frames keep the step to those periods, so what it answers about a period is one
mechanism of its total, which that period paid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.core.budget import Budget
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.kinds import kind_of
from pandas_dp.facts.names import check_name
from pandas_dp.facts.public_only import refuse_private
from pandas_dp.session import registry
from pandas_dp.session.alone import check_alone
from pandas_dp.session.periods import fitting
from pandas_dp.session.session import PART, Session
from pandas_dp.steps.changes import Filter
from pandas_dp.steps.expression import Column
from pandas_dp.steps.functions import compare
from pandas_dp.steps.periods import InPeriods
from pandas_dp.tables import frames as tables
from pandas_dp.tables.protected import Table

MARK = "#"  # in the name of a part of a partition: no allotment can have such a name
TYPES: dict[str, tuple[type, ...]] = {"key": (str,), "bool": (bool,), "number": (int, float)}


def allot(frame: pd.DataFrame, name: str, epsilon: Any) -> pd.DataFrame:
    """Return the frame on a part of its budget; see ``df.dp.allot``."""
    if not isinstance(name, str) or not name.strip() or PART in name or MARK in name:
        raise ArgumentTypeError("name must be text without '::' and '#': df.dp.allot('nightly', epsilon=1)")
    total, table = numbers.positive_epsilon(numbers.unquoted(epsilon)), registry.table_of(frame)
    session = table.session
    table.span(())  # refuses first
    check_name(session.name + PART + name, session._ledger.heads())
    where = "".join(f"{step}." for step in table.steps if isinstance(step, InPeriods))
    text = f"{where}allot({name!r}, epsilon={show(total)})"
    table.check()
    (part,) = _parts(table, [name], total, session.unit, text)
    return tables.derive(part, table.source, table, ())


def partition(
    frame: pd.DataFrame, by: str, keys: Any, epsilon: Any, made: Callable[[tuple[Any, ...]], pd.DataFrame]
) -> dict[Hashable, pd.DataFrame]:
    """Return a frame for each key, on a part of the budget; see ``df.dp.partition``."""
    refuse_private("partition", [("keys", keys)])
    table = registry.table_of(frame)
    session, empty = table.session, table.empty
    line = f"df.dp.partition({by!r}, ['A', 'B'], epsilon=1)"
    if not isinstance(by, str) or by not in empty:
        raise ArgumentTypeError(f"by must name a column: {line}")
    if session.unit.column is not None:
        raise ArgumentValueError(
            f"partition() needs one row per unit, and all rows of one {session.unit.column!r} belong together: ask "
            f"df.dp(epsilon=0.5).groupby({by!r}, keys=[...]), which limits how many groups a unit may be in"
        )
    if epsilon is None:
        raise Line(f"df.dp.partition({by!r}, epsilon=0.5)", (("epsilon", "0.5"),)).refuse("partition() needs epsilon")
    total = numbers.positive_epsilon(numbers.unquoted(epsilon))
    kind, facts = kind_of(empty[by].dtype), table.schema[by]
    # objects and categories could hold cells that equal two keys
    if kind.name not in TYPES or (kind.name == "key" and empty[by].dtype.type is not str):
        raise ArgumentTypeError(
            f"by must be a column of text, bools or numbers; df[{by!r}].astype('str') makes text: {line}"
        )
    keyed, _ = checks.keys(keys, False, False, kind, facts, "partition", by, Line(line))
    if not all(type(key) in TYPES[kind.name] for key in keyed.keys):
        raise ArgumentTypeError(f"keys must be plain text, True and False, or numbers, like the column: {line}")
    if any(isinstance(key, int | float) and (abs(key) > numbers.ROUNDED or float(key) != key) for key in keyed.keys):
        # a cell is compared with these as an exact integer or as a float64, and then equals one of them at most
        raise ArgumentValueError(f"keys must be numbers of at most 2**53: {line}")
    # a file that is read as text is other content than the same file read as numbers: a row may lie in another part there
    kinds = table.kinds_of({by, *(column for step in table.steps for column in step.reads)})
    whose = repr((table.content, table.steps, by, keyed.keys, total, kinds))
    label = f"{by}{MARK}{hashlib.sha256(whose.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    # one row changes one part, or under replace_one leaves one and enters another: an insertion or a deletion in each
    sides = 1 if session.unit.add_remove else 2
    conditions = [(Filter(compare("==", Column(by), key)),) for key in keyed.keys]
    table.check()
    text = f"partition({by!r}, {len(keyed.keys):,} keys, epsilon={show(total)})"
    names = [label, *(f"{label}{MARK}{i}" for i in range(1, len(keyed.keys)))]
    parts = zip(keyed.keys, _parts(table, names, total, PrivacyUnit(), text, sides), conditions, strict=True)
    return {key: tables.derive(part, made(condition), table, condition) for key, part, condition in parts}


def _parts(
    table: Table, names: Sequence[str], total: Fraction, unit: PrivacyUnit, text: str, times: int = 1
) -> list[Session]:
    """Charge a part so many times to its session, unless that was done before, and open it with others that this pays, too.

    Raises
    ------
    ArgumentValueError
        There is a part of this name with another total.
    """
    session, periods, (name, *others) = table.session, table.span(()), names
    session._open()
    check_alone()  # before anything is charged
    known = session._ledger.budget(session.name + PART + name)
    if known is not None and known != (Budget.of(total), unit):
        raise ArgumentValueError(
            f"this part of the budget has epsilon={show(known[0].epsilon)}, which cannot change: type that, or another name"
        )
    key, price, loss = f"part {name} {total}", f"epsilon={show(times * total)}", PrivacyLoss.pure(times * total)
    if unit.periods is not None:  # the same part may be set aside in other periods, too, which then pay as well
        key = f"{key} {periods}"
    # once: what another thread or process paid at this moment, or a crash left paid and not yet opened, is paid
    with fitting(session):
        session._ledger.reserve(session.name, key, text, price, loss, session.unit, once=True, periods=periods)
    also = [session.name + PART + other for other in others]
    session._ledger.open(session.name + PART + name, Budget.of(total), unit, also=also)
    return [registry.part_of(session, each, Budget.of(total), unit) for each in names]
