"""A second budget by accident, on the command line: see `pandas_dp.session.second_budgets`."""

from __future__ import annotations

import argparse
import os

from pandas_dp.commands import words
from pandas_dp.commands.plans import check_text, existing_ledger
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.names import check_name
from pandas_dp.facts.public_only import DOTS
from pandas_dp.session import second_budgets
from pandas_dp.session.registry import listed

TWICE = "the ledger {file} beside this one has a budget {name!r}, too; for people who are in both, the two add up"


def check(name: str, options: argparse.Namespace, in_plan: bool) -> str:
    """Refuse a new budget that is likely meant to be another one; else say which one beside it has the same name.

    Parameters
    ----------
    name : str
    options : Namespace
        With the ledger, the reason, and the command line as it was typed; it gets `new`, whether the budget is a new one.
    in_plan : bool
        Whether the name of the budget stands in a plan file.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    ledger = existing_ledger(options.ledger)
    options.new = options.ledger is not None and (ledger is None or ledger.budget(name) is None)
    if options.reason is not None and not check_text(options.reason, "--reason").strip(DOTS):
        raise ArgumentTypeError("--reason ... is a placeholder: say why, in your own words")
    if options.reason is not None or not options.new:
        return ""
    total = ["--total=3"] * (not in_plan and options.total is None and options.total_rho is None)
    made = f"say why, on record: {words.line(['pandas-dp', *options.typed, *total, '--reason', '...'])}"
    if file := second_budgets.similar_file(options.ledger, name):
        right = _instead(options, options.ledger, os.path.join(os.path.dirname(options.ledger), file))
        there = f"there is no ledger {options.ledger}, but there is {file}"
        raise ArgumentValueError(f"{there}. For a new one, with a full budget, {made}. To use that one: {right}")
    held = [] if ledger is None else list(ledger.heads())
    check_name(name, held)
    if known := second_budgets.similar(name, held):
        there = f"the ledger has no budget {name!r}, but {listed(known)}"
        right = f'name = "{known[0]}" in [budget]' if in_plan else _instead(options, name, known[0])
        raise ArgumentValueError(f"{there}. For a new one, which adds to it, {made}. To continue that one: {right}")
    file = second_budgets.also_in(options.ledger, name)
    return TWICE.format(file=file, name=name) if file else ""


def _instead(options: argparse.Namespace, wrong: str, right: str) -> str:
    """The command line with another word in place of one."""
    ends = {wrong: right, f"--ledger={wrong}": f"--ledger={right}", f"--name={wrong}": f"--name={right}"}
    return words.line(["pandas-dp", *(ends.get(word, word) for word in options.typed)])
