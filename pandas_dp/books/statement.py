"""The statement of a ledger's budgets for programs, as JSON.

It says what the certificate says, read at the same head of the chain. Numbers are texts, exact ones ("1/3"). What no package
can know, who publishes what for whom, is the owner's word: ``about``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from pandas_dp.books import budget_words, odometer, period_words
from pandas_dp.books import certificate_contents as contents
from pandas_dp.books.amounts import Most, kept
from pandas_dp.books.certificate_contents import WORDS, Account, Certificate
from pandas_dp.core.ledger import LedgerEntry
from pandas_dp.facts.periods import Periods
from pandas_dp.release.summary import Shown

FORM = "pandas_dp/1"


def statement(made: Certificate, about: Mapping[str, Any], values: bool = False) -> str:
    """Return the statement as JSON.

    Parameters
    ----------
    made : Certificate
        What `certificate_contents.read` found.
    about : mapping
        The owner's word, as `deployments.checked` returns it.
    values : bool
        Whether the released answers are in it.

    Returns
    -------
    str
    """
    told = {
        "statement": FORM,
        "software": {"name": "pandas_dp", "version": version("pandas-dp")},
        "made": made.made.isoformat(),
        "ledger": made.ledger,
        "budgets": [_budget(account, made, values) for account in made.accounts],
        "other_budgets": list(made.others),
        "about": dict(about),
    }
    return json.dumps(told, indent=2) + "\n"


def _budget(account: Account, made: Certificate, values: bool) -> dict[str, Any]:
    rule, unit, state, entries = account.rule, account.unit, account.state, account.entries
    hidden, neighbours = contents.whose(unit)
    counted, why = contents.theorem(kept(rule, state), unit)
    spent, budget = account.spent, rule.budget
    answers = list(account.answers.values())
    over = budget_words.is_over(rule, state)
    return {
        "budget": account.name,
        "part_of": account.whole,
        "promise": odometer.promise(rule, unit, state),
        "total": {
            **_of_one(account, {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}),
            "plan": [[str(price), count] for price, count in budget.plan],
            "holds": not over,
        },
        "spent": {
            "words": str(spent),
            "epsilon": str(Fraction(spent.epsilon)) if spent.epsilon.is_finite() else None,
            "delta": str(Fraction(spent.delta)),
            "sums": {name: str(used) for name, used in _sums(account).items()},
        },
        "unit": {
            **{term: getattr(unit, term) for term in ("column", "rows", "groups", "rows_per_group")},
            "relation": unit.relation.value,
            **({"period": unit.period, "periods": contents.when(unit)} if unit.period else {}),
            "words": hidden,
            "neighbours": neighbours,
        },
        "accounting": {
            "accountant": budget.accountant,
            "order": None if rule.order is None else str(rule.order),
            "words": counted,
            "why": contents.OVER if over else why,
            "adaptive": True,
        },
        "data_domain": data_domain(account),
        "tables": [{"name": name, "public_facts": facts} for name, facts in made.tables],
        "unprotected": list(unprotected(account, made)),
        "assumed": list(contents.assumptions(rule, unit)),
        "warnings": [{"short": short, "full": full} for short, full in contents.warnings(rule, unit, entries, answers)],
        "mechanisms": mechanisms(account),
        "implementation": list(WORDS["statement"]["implementation"]),
        "post_processing": WORDS["statement"]["post_processing"],
        "questions": [_question(entry, account, values) for entry in entries if entry.kind == "query"],
        "changes": [
            {
                "entry": entry.sequence,
                "time": entry.time.isoformat(),
                "kind": entry.kind,
                "text": entry.query,
                "terms": entry.price,
            }
            for entry in entries
            if entry.kind not in ("query", "draw")
        ],
        "chain": {
            "entries": len(entries),
            "head": account.head,
            "verify": f"pandas-dp ledger verify {shlex.quote(made.ledger)}" if made.ledger else None,
        },
    }


def _of_one(account: Account, total: dict[str, str]) -> dict[str, Any]:
    """The total; of a budget for each period beside what all that were asked come to for one unit, lest it pass for that."""
    state, unit = account.state, account.unit
    if not isinstance(state, Most):
        return total
    found = period_words.somebody(account.rule, state, unit) if unit.column is not None else None
    person = None if found is None else {"epsilon": str(found[0]), "delta": str(found[1])}
    asked = {"period": unit.period, "periods_asked": len(state.periods)}
    lifetime = kept(account.rule, state).budget.lifetime
    cap = {"lifetime": str(lifetime)} if lifetime is not None else {}
    return {"per_period": total, **asked, "person": person or "no bound", **cap}


def _sums(account: Account) -> dict[str, Fraction]:
    """What the filter decides by, exactly."""
    state = account.state
    sums = {} if state.unbounded else {"epsilon": state.epsilon}
    return sums | {"renyi": state.renyi, "delta": state.delta}


def _question(entry: LedgerEntry, account: Account, values: bool) -> dict[str, Any]:
    told, charge = account.answers.get(entry.sequence), entry.charge
    paid = None
    if charge is not None:
        epsilon = None if charge.epsilon is None else str(charge.epsilon)
        paid = {"epsilon": epsilon, "renyi": str(charge.renyi), "delta": str(charge.delta)}
        if charge.periods is not None:
            first, last = map(Periods.from_text(account.unit.periods or "").name, charge.periods)
            paid |= {"from": first, "to": last}
    question = {
        "entry": entry.sequence,
        "time": entry.time.isoformat(),
        "ask": entry.query,
        "price": entry.price,
        "charge": paid,
        "mechanism": told and told.mechanism,
        "rows": told and told.lineage,
        "assumes": told and told.assumes,
    }
    return question | ({"answer": told and _answer(told)} if values else {})


def _answer(told: Shown) -> dict[str, Any]:
    return {"text": told.text, "head": told.head, "rows": told.rows, "notes": told.cautions + told.notes}


def mechanisms(account: Account) -> list[str]:
    """The mechanisms of the answers on record, each once."""
    return list(dict.fromkeys(told.mechanism for told in account.answers.values()))


def data_domain(account: Account) -> str:
    """The tables for which the promise holds."""
    words, column = WORDS["statement"]["domain"], account.unit.column
    return str(words["rows"] if column is None else words["unit"].format(column=column))


def unprotected(account: Account, made: Certificate) -> Iterator[str]:
    """Yield what the promise does not hide."""
    yield from WORDS["statement"]["unprotected"]
    if not account.unit.add_remove:
        yield WORDS["warning"]["presence"]["full"]
    for name, facts in made.tables:
        if facts:
            yield f"stated as public of {name}: {facts}"
    yield from (f"vouched for: {entry.query}" for entry in account.entries if entry.kind == "adopt")
