"""What the owner says of a publication, and the entry of the public registry of deployments that is made of it, as YAML.

The registry is OpenDP's. Its schema asks for numbers: they are written as decimals, rounded up where they are no short ones.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from pandas_dp.books import budget_words, odometer, period_words, statement
from pandas_dp.books import certificate_contents as contents
from pandas_dp.books.amounts import Most, kept
from pandas_dp.books.certificate_contents import WORDS, Certificate
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean

TEXT, TEXTS = "text", "list of texts"
FIELDS: dict[str, Any] = WORDS["about"]  # what it may say: a text, a list of texts, or one of the registry's words
REQUIRED = tuple(FIELDS)[:9]  # by the registry
LINE = "session.report('statement.json', about={'name': 'Visits by ward', 'data_curators': ['City hospital']})"


def checked(about: Mapping[str, Any] | str | os.PathLike[str] | None) -> dict[str, Any]:
    """Read what the owner says, a mapping or the name of a TOML file.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        It cannot be read, or a field is unknown or of another kind.
    """
    if isinstance(about, str | os.PathLike):
        try:
            with open(about, "rb") as file:
                about = tomllib.load(file)
        except (OSError, ValueError):
            raise ArgumentValueError("about must be a mapping, or the name of a TOML file that can be read") from None
    if about is not None and not isinstance(about, Mapping):
        raise ArgumentTypeError(f"about must be a mapping, or the name of a TOML file: {LINE}")
    return {field: _field(field, said) for field, said in dict(about or {}).items()}


def _field(field: Any, said: Any) -> Any:
    if field not in FIELDS:
        raise ArgumentValueError(
            f"about has no field {field!r}{did_you_mean(field, FIELDS)}; it takes {', '.join(FIELDS)}"
        )
    kind = FIELDS[field]
    if field == "publication_date":
        return _day(said)
    if kind == TEXTS:
        if isinstance(said, str) or not isinstance(said, Sequence) or not said or not all(map(_is_text, said)):
            raise ArgumentTypeError(f"about: {field} must be a list of texts: {{{field!r}: ['City hospital']}}")
        return [str(one) for one in said]
    if kind != TEXT and said not in kind:
        raise ArgumentValueError(f"about: {field} must be one of {', '.join(map(repr, kind))}")
    if not _is_text(said):
        raise ArgumentTypeError(f"about: {field} must be a text")
    return str(said)


def _is_text(said: Any) -> bool:
    return isinstance(said, str) and bool(said.strip())


def _day(said: Any) -> str:
    """A day, as TOML or a person writes it, in the form that the registry asks for."""
    try:
        return dt.date.fromisoformat(said.isoformat() if isinstance(said, dt.date) else said).isoformat()
    except (ValueError, TypeError):
        raise ArgumentValueError("about: publication_date must be a day: {'publication_date': '2026-11-30'}") from None


def entry(made: Certificate, about: Mapping[str, Any]) -> str:
    """Return a draft of the entry for the registry of deployments that OpenDP keeps, as YAML, for one budget.

    Its form is that of the registry's schema as of July 2026, where *flavor* had become *variant*. The variant is what is
    promised, pure or approximate, whatever accountant adds up.

    Raises
    ------
    ArgumentValueError
        There are several budgets, or the owner left out what the registry requires.
    """
    wholes = [account for account in made.accounts if account.whole not in made.names]
    if len(wholes) != 1:
        raise ArgumentValueError(
            f"an entry of the registry is about one budget, and there are {len(wholes)}: give its name"
        )
    missing = [field for field in REQUIRED if field not in about]
    if missing:
        raise ArgumentValueError(
            f"the registry asks for more than the ledger knows: about={{...}} or a TOML file with {', '.join(missing)}"
        )
    account = wholes[0]
    rule, unit = account.rule, account.unit
    promised = odometer.promised(rule, account.state)
    if promised is None:
        raise ArgumentValueError(f"this budget promises {odometer.NOTHING}, which is no entry of the registry")
    hidden, neighbours = contents.whose(unit)
    counted, why = contents.theorem(kept(rule, account.state), unit)
    each = f" in one {unit.period}; the parameters are those of all {unit.period}s asked" if unit.period else ""
    questions = sum(e.kind == "query" for e in account.entries)
    basic = ("name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description")
    words = WORDS["statement"]
    epsilon, delta = promised.epsilon, promised.delta
    if isinstance(account.state, Most):  # the registry would take the total of one period for that of a person
        found = period_words.somebody(rule, account.state, unit)
        if unit.column is None or found is None:
            raise ArgumentValueError(
                f"for one {unit.column or 'person'!r} in every {unit.period} asked this budget has no bound, which is no entry "
                "of the registry: session.report('statement.json') says all there is to say"
            )
        epsilon, delta = found
    parameters = {"epsilon": epsilon} | ({"delta": delta} if delta else {})
    warned = [full for _, full in contents.warnings(rule, unit, account.entries, list(account.answers.values()))]
    used = statement.mechanisms(account) or ["none yet"]
    made_of: dict[str, Any] = {
        "url_slug": about["slug"],
        "status": "Draft",
        "tier": 3 if "justification" in about else 2,
        "deployment": {
            "basic": _of(about, *basic, "publication_date", "data_product_sector"),
            "dp_variant": {
                "variant_name": "Approximate DP" if promised.delta else "Pure DP",
                "data_domain": statement.data_domain(account),
                "unprotected_quantities": _listed(statement.unprotected(account, made)),
            },
            "privacy_loss": {
                "privacy_unit": "Row" if unit.column is None else f"All rows of one {unit.column!r}{each}",
                "privacy_unit_details": f"Protected is {hidden}. {neighbours}.",
                "privacy_parameters": parameters,
                "privacy_parameters_details": f"{odometer.promise(rule, unit, account.state)}. {questions:,} questions so far; "
                f"spent: {account.spent}.",
            },
            "deployment_model": {"model_name": "Central"}
            | _of(about, "actors", "release_type")
            | {"release_type_details": " ".join([*_said(about, "release_details"), words["elsewhere"]])}
            | _of(about, "data_source_type", "access_type", access_details="access_type_details"),
            "accounting": {
                "post_processing": " ".join([words["post_processing"], *_said(about, "post_processing")]),
                "composition": f"{counted}. {contents.OVER if budget_words.is_over(rule, account.state) else why}",
            },
            "implementation": _of(about, preprocessing="preprocessing_and_hyperparameter_tuning")
            | {
                "mechanisms": _listed(
                    [
                        f"Mechanisms: {'; '.join(used)}.",
                        f"pandas_dp {version('pandas-dp')}.",
                        *words["implementation"],
                        *_said(about, "security"),
                    ]
                )
            }
            | _of(about, "justification"),
            "administrative": _of(about, "sources")
            | ({"notes": _listed(warned)} if warned else {})
            | _of(about, authors="registry_authors"),
        },
    }
    return "\n".join(_yaml(made_of)) + "\n"


def _said(about: Mapping[str, Any], field: str) -> list[str]:
    return [about[field]] if field in about else []


def _of(about: Mapping[str, Any], *fields: str, **renamed: str) -> dict[str, Any]:
    """What the owner said of these fields, under the registry's names."""
    names = {field: field for field in fields} | renamed
    return {name: about[field] for field, name in names.items() if field in about}


def _listed(lines: Iterator[str] | list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _yaml(node: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield the lines of a tree of mappings, lists of texts, texts and numbers."""
    for key, value in node.items():
        start = f"{'  ' * depth}{key}:"
        if isinstance(value, Mapping):
            yield start
            yield from _yaml(value, depth + 1)
        elif isinstance(value, list):
            yield start
            yield from (f"{'  ' * depth}  - {_quoted(one)}" for one in value)
        else:
            yield f"{start} {_number(value) if isinstance(value, Fraction) else _quoted(value)}"


def _quoted(value: Any) -> str:
    """A text in the double quotes of YAML, where whatever is not printed is escaped by its number; other values as they are."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(
        c if c.isprintable() else "\\ufffd" if "\ud800" <= c <= "\udfff" else f"\\U{ord(c):08x}" for c in text
    )


def _number(x: Fraction) -> str:
    """A decimal that is not smaller, which YAML takes for a number: of 1e-06 it makes a text, of 1.0e-06 not."""
    told = str(Context(prec=15, rounding=ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator)))
    digits, exponent, power = told.partition("E")
    return f"{digits}{'' if '.' in digits else '.0'}{exponent}{power}"
