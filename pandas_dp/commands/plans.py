"""Plan files: a budget, a schema and the questions of a pipeline, in TOML.

.. code-block:: toml

    [budget]              # the arguments of df.dp.protect
    name = "visits"
    epsilon = 3
    unit = "patient_id"
    max_rows = 10

    [table]               # the content: the same question about the same version is answered once
    name = "visits"
    version = "2026-11-28"

    [schema.cost]         # public facts, as Schema.from_toml reads them
    bounds = [0, 5000]

    [[queries]]
    name = "visits_by_ward"
    price = { epsilon = 0.5 }
    ask = "groupby('ward', keys=['A', 'B']).size()"

    [plan]                # optional: prices are found by pandas_dp.plan, here those that this total buys
    epsilon = 1

    [[queries]]           # or as Query.to_dict writes it
    name = "mean_cost"
    price = { epsilon = 0.5 }
    calls = [{ call = "mean", args = ["cost"] }]
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, did_you_mean, told
from pandas_dp.facts.names import check_name
from pandas_dp.facts.periods import EXAMPLES, Periods
from pandas_dp.facts.schema import Schema, read_toml
from pandas_dp.queries import json_values
from pandas_dp.queries.plan import MOST_QUERIES, plan
from pandas_dp.queries.query import DEFAULTS, Query
from pandas_dp.queries.texts import asked, read_query
from pandas_dp.session import advice, opening, periods
from pandas_dp.session.session import PART, Session

UNIT = ("unit", "max_rows", "max_groups", "max_rows_per_group")
WHEN = ("period", "time", "zone")
TERMS = ("name", "epsilon", "rho", "delta", "accountant", "delta_reserved", "lifetime", "neighbors", *UNIT, *WHEN)
ROWS = (
    "this budget protects single rows, and column {column!r} looks like a person identifier: if one person can have several "
    "rows, open one that protects people, under another name where this one has answered: {line}"
)
EXAMPLE = 'name = "visits", epsilon = 3, unit = "patient_id", max_rows = 10'


@dataclass(frozen=True)
class BudgetTerms:
    """What ``df.dp.protect`` is told, checked without a frame.

    Attributes
    ----------
    name : str
    budget : Budget
    unit : PrivacyUnit
        Without its periods until the columns are known, see `for_table`.
    when : tuple
        What was said of periods: period, time and zone.
    reason : str or None
        Why a budget is opened beside one of a similar name.
    """

    name: str
    budget: Budget
    unit: PrivacyUnit
    when: tuple[Any, ...] = (None, None, None)
    reason: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BudgetTerms:
        """Check terms by name.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        for term in given:
            if term not in TERMS:
                raise ArgumentValueError(f"a budget has no {term!r}{did_you_mean(term, TERMS)}: {EXAMPLE}")
        if "name" not in given:
            raise ArgumentTypeError('a budget needs its name: name = "visits"')
        if ("epsilon" in given) == ("rho" in given):
            lacks = "has one total, epsilon or rho" if "rho" in given else "needs its epsilon"
            raise ArgumentTypeError(f"a budget {lacks}: epsilon = 3")
        name = given["name"]
        if not isinstance(name, str) or not name or PART in name:
            raise ArgumentTypeError('name must be text without "::", which marks parts of a budget: name = "visits"')
        column, rows, groups, each = (given.get(term) for term in UNIT)
        unit = opening.privacy_unit(column, rows, groups, each, given.get("neighbors", "add_remove"))
        total = opening.total if "epsilon" in given else opening.total_of_rho
        amount = given["epsilon"] if "epsilon" in given else given["rho"]
        budget = total(amount, given.get("delta", 0), given.get("delta_reserved"), given.get("accountant", "auto"))
        budget = periods.capped(budget, given.get("lifetime"), given.get("period"), column)
        return cls(name, budget, unit, tuple(given.get(term) for term in WHEN))

    def for_table(self, frame: pd.DataFrame, ledger: str | None) -> BudgetTerms:
        """The same with what the period of a row is, as a ledger has it on record, for a table of these columns.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        period, time, zone = self.when
        made = periods.opened(frame, period, time, zone, self.unit.relation)
        if made is None:
            return self
        books = existing_ledger(ledger)
        known = None if books is None else books.budget(self.name)
        return replace(self, unit=periods.as_on_record(replace(self.unit, periods=made.text()), known))

    @classmethod
    def recorded(cls, ledger: Ledger, name: str) -> BudgetTerms | None:
        """Return the terms that a ledger has on record, or None where it knows no budget of this name."""
        known = ledger.budget(name)
        return None if known is None else cls(name, *known)

    def open(self, ledger: Ledger) -> bool:
        """Open the budget in a ledger, which is True, or compare the terms of the one that is there.

        Raises
        ------
        ArgumentValueError, LedgerError
        """
        return ledger.open(self.name, self.budget, self.unit, check=partial(check_name, self.name))

    def person_column(self, frame: pd.DataFrame, ledger: str | None) -> str | None:
        """The column that says whose a row is, by its name, where a command opens a budget of single rows; None elsewhere."""
        books = existing_ledger(ledger)
        if self.unit.column is not None or (books is not None and books.budget(self.name) is not None):
            return None
        return advice.person_column(frame)

    def protect(self, frame: pd.DataFrame, schema: Schema, ledger: str, table: str, version: str | None) -> Session:
        """Protect a frame on this budget, which is opened where the ledger has none.

        Notes
        -----
        The number of rows is never taken for public, as it is under ``replace_one`` for the table that opens a budget: then
        a job that is started again would ask at other prices than the first one.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, LedgerError
        """
        new = self.open(open_ledger(ledger))
        content, reason = opening.Content(schema, table, version), self.reason if new else None
        return opening.protect(frame, self.budget, self.unit, content, ledger=ledger, name=self.name, reason=reason)


def check_period(terms: BudgetTerms, period: Sequence[str], line: str) -> None:
    """Refuse a job that does not say which periods it is about where its budget is for each, or says it elsewhere.

    `line` opens a budget for each.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    if not period and terms.unit.periods is not None:
        example, one = EXAMPLES[Periods.from_text(terms.unit.periods).period], terms.unit.period
        raise ArgumentTypeError(f"this budget is per {one}: say which {one}s count: --period {example}")
    if period and terms.unit.periods is None:
        raise ArgumentTypeError(f"--period needs a budget for each period: {line}")
    if len(period) > 2:
        raise ArgumentValueError("--period takes one period, or the first and the last: --period 2026-11-01 2026-11-30")


def refuse_in_code(query: Query) -> None:
    """Refuse a question that is asked in code alone."""
    if (why := IN_CODE.get(query._calls[-1].name)) is not None:
        raise ArgumentValueError(why)


def existing_ledger(path: str | os.PathLike[str] | None) -> Ledger | None:
    """Return the ledger in a file, or None where there is none yet; none is made."""
    return open_ledger(path) if path is not None and os.path.isfile(path) else None


SECTIONS = ("budget", "table", "schema", "plan", "queries")
OPTIONS = ("epsilon", "delta", "accountant", "rows")  # of `pandas_dp.plan`
FIELDS = ("name", "price", "ask", "calls")
SPLIT = (
    "[split] total = 1 is now [plan] epsilon = 1, and every query has a price, price = { epsilon = 0.3 }, which stands for its "
    "share, or an error, price = { within = 20 }"
)
PRICES = tuple(name for name in DEFAULTS if name != "fresh")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
INDEX = "index"  # the file that lists the answers
# what Windows has no file of
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.ASCII | re.IGNORECASE)
STREAM = "a stream takes questions one after another: open it in code"
IN_CODE = {  # what is asked in code alone, and why
    "above_threshold": STREAM,
    "oracle": STREAM,
    "randomized_response": "randomized_response() shows the number of rows, which is never public here: ask it in code",
}
QUERY = '[[queries]] name = "rows", price = { epsilon = 0.5 }, ask = "count()"'
Made = TypeVar("Made")
MOST_CHARACTERS = 300  # of a message that repeats a question
LONGEST = 200  # characters of a name or version


@dataclass(frozen=True)
class PipelinePlan:
    """What a plan file says.

    Attributes
    ----------
    terms : BudgetTerms
    table : str
        Public name of the content.
    version : str or None
    schema : Schema
    queries : dict of str to Query
        In the order in which they are asked.
    options : dict or None
        How `pandas_dp.plan` shall find the prices; None where they are what the queries say.
    """

    terms: BudgetTerms
    table: str
    version: str | None
    schema: Schema
    queries: Mapping[str, Query]
    options: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, path: str) -> PipelinePlan:
        """Read a plan file.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Nothing else, whatever the file holds.
        """
        return cls.of(read_toml(path, "plan", "[budget] and below it epsilon = 3"))

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> PipelinePlan:
        """Check what a plan file says; see `read`."""
        if "split" in said:
            raise ArgumentValueError(SPLIT)
        _known(said, SECTIONS, "a plan")
        budget, table, schema, options = (_section(said, name) for name in SECTIONS[:4])
        _known(table, ("name", "version"), "[table]")
        _known(options, OPTIONS, "[plan]")
        with told("[budget]: "):
            terms = BudgetTerms.of(budget)
        queries = _queries(said.get("queries"))
        name, version = check_text(table.get("name", terms.name), "[table] name"), table.get("version")
        if version is not None:
            plain = str(version) if isinstance(version, dt.date) or type(version) is int else version
            version = check_text(plain, "[table] version")
        with told("[schema]: "):
            facts = Schema.of(schema)
        return cls(terms, name, version, facts, queries, options if "plan" in said else None)

    def priced(self, frame: pd.DataFrame) -> list[tuple[str, Query]]:
        """Names and queries, at the prices that a plan finds on a protected frame of these columns.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        queries = list(self.queries.values())
        if self.options is not None:
            options = {name: json_values.decoded(value) for name, value in self.options.items()}
            queries = list(fitting("[plan]: ", "", lambda: plan(queries, frame, **options)))
        return list(zip(self.queries, queries, strict=True))


def check_text(text: Any, what: str) -> str:
    """Check a public name or version.

    Raises
    ------
    ArgumentTypeError
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST or not text.isprintable():
        raise ArgumentTypeError(f'{what} must be a short text, such as {what.split()[-1].lstrip("-")} = "2026-11-28"')
    return text


def fitting(where: str, what: str, check: Callable[[], Made]) -> Made:
    """Put questions of a file to a frame; whatever they are refused for comes with where they stand.

    Raises
    ------
    PandasDPError
        Nothing else.
    """
    try:
        return check()
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(f"{where}{error}") from None
    except PandasDPError:
        raise
    except AttributeError as error:  # as for attributes of an object
        raise ArgumentValueError(f"{where}{error}") from None
    except Exception:  # noqa: BLE001 - from a file anything can stand for an argument; there is no row here that it could tell of
        raise ArgumentValueError(f"{where}its arguments do not fit{what}"[:MOST_CHARACTERS]) from None


def _known(said: Mapping[str, Any], names: Iterable[str], what: str) -> None:
    for name in said:
        if name not in names:
            raise ArgumentValueError(f"{what} takes {', '.join(names)}, not {name!r}{did_you_mean(name, names)}")


def _section(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = said.get(name, {})
    if not isinstance(section, Mapping):
        raise ArgumentTypeError(f"{name} of a plan is a table: [{name}]")
    return section


def _queries(said: Any) -> dict[str, Query]:
    if not isinstance(said, list) or not said:
        raise ArgumentTypeError(f"a plan has at least one query: {QUERY}")
    if len(said) > MOST_QUERIES:
        raise ArgumentValueError(f"a plan has at most {MOST_QUERIES:,} queries")
    found, names = dict[str, Query](), dict[str, str]()  # the latter by what some systems take for one name
    for place, entry in enumerate(said, 1):
        if not isinstance(entry, Mapping):
            raise ArgumentTypeError(f"query {place} of the plan is not a table: {QUERY}")
        name = entry.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name) or name.lower() == INDEX:
            raise ArgumentValueError(
                f"query {place} of the plan needs a name that a file can have, of letters, digits, _, - and ., other "
                f'than "{INDEX}": name = "visits_by_ward"'
            )
        if DEVICE.fullmatch(name):
            raise ArgumentValueError(
                f'query {place} of the plan is named {name!r}, which is a device on Windows and no file: name = "q_{name}"'
            )
        if (other := names.setdefault(name.lower(), name)) != name or name in found:
            same = "" if other == name else ", which some systems take for one name"
            raise ArgumentValueError(
                f"two queries of the plan are named {other!r} and {name!r}{same}; each answer is a file of "
                f'its own: name = "{name}_{place}"'
            )
        with told(f"query {name!r}: "):
            found[name] = _query(entry)
    return found


def _query(entry: Mapping[str, Any]) -> Query:
    _known(entry, FIELDS, "a query")
    if "price" not in entry:
        raise ArgumentTypeError("it needs a price: price = { epsilon = 0.5 }, or an error: price = { within = 20 }")
    if ("ask" in entry) == ("calls" in entry):
        raise ArgumentTypeError('it needs one of ask and calls: ask = "count()"')
    price = entry["price"]
    if isinstance(price, Mapping):
        _known(price, PRICES, "price")
    else:
        said = f"epsilon = {price}" if type(price) in (int, float) else "epsilon = 0.5"
        raise ArgumentTypeError(f"a price is a table: price = {{ {said} }}")
    if "ask" in entry:
        given, _ = json_values.checked({"price": price, "calls": []}, DEFAULTS)
        query = read_query(entry["ask"], given)
    else:
        try:
            query = asked(Query.from_dict({"price": price, "calls": entry["calls"]}))
        except AttributeError as error:
            raise ArgumentValueError(str(error)) from None
    refuse_in_code(query)
    return query
