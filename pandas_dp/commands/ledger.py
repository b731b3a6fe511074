"""``pandas-dp ledger show|verify|export|report FILE``: the books of a ledger file, for whoever answers for it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pandas_dp.commands.exits import DONE
from pandas_dp.core.ledger import Ledger, LedgerEntry, open_ledger
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import LedgerError
from pandas_dp.report import odometer, shown
from pandas_dp.report.certificate import certificate, write


def add(commands: Any) -> None:
    """Add the command to a parser's subcommands."""
    ledger = commands.add_parser("ledger", help="show, verify, export or report the books of a ledger file")
    what = ledger.add_subparsers(dest="what", required=True)
    texts = {
        "show": "every budget: what it protects, spent and left",
        "verify": "read every entry and check that none was changed; exit code 1 if one was",
        "export": "every entry as one line of JSON, with what was answered",
        "report": "the certificate, a page of HTML",
    }
    for name, text in texts.items():
        command = what.add_parser(name, help=text, description=text)
        command.add_argument("file", metavar="FILE")
        if name == "report":
            command.add_argument(
                "--out", metavar="report.html", help="where to write it (default: named after FILE, here); - prints it"
            )
            command.add_argument("--name", help="one budget and its parts; all where left out")


def run(options: argparse.Namespace) -> int:
    """Carry it out; see `exits` for the codes.

    Raises
    ------
    LedgerError
        The file cannot be read as a ledger, or is damaged.
    """
    if not os.path.isfile(options.file):  # opening would make a new one
        raise LedgerError(f"{options.file}: there is no such file")
    try:
        ledger = open_ledger(options.file)
        if options.what == "report":
            page = certificate(ledger, options.name)
            if options.out == "-":
                print(page.encode("ascii", "xmlcharrefreplace").decode())
                return DONE
            options.out = options.out or f"{os.path.basename(options.file)}.html"
            write(page, options.out)
            print(f"the certificate is written to {options.out}")
            return DONE
        for line in {"show": _shown, "verify": _verified, "export": _exported}[options.what](ledger):
            print(line)
    except LedgerError as error:
        raise LedgerError(f"{options.file}: {error}") from None
    except OSError as error:
        raise LedgerError(f"{options.out} cannot be written: {error.strerror}") from None
    return DONE


def _shown(ledger: Ledger) -> Iterator[str]:
    for name in ledger.heads():
        rule, state, (_, unit) = ledger.rule(name), ledger.state(name), ledger.budget(name) or (None, PrivacyUnit())
        entries = ledger.entries(name)
        yield f"{name}: protects {unit} ({unit.relation})"
        yield f"  promise  {odometer.promise(rule, unit, state)}"
        yield f"  spent    {rule.spent(state)}"
        yield f"  left     {rule.left(state)}"
        yield f"  entries  {len(entries):,}, the last at {entries[-1].time:%Y-%m-%d %H:%M} UTC"


def _verified(ledger: Ledger) -> Iterator[str]:
    ledger.verify()
    for name, head in ledger.heads().items():
        yield f"{name}: {len(ledger.entries(name)):,} entries, none changed; head of the chain {head}"


def _exported(ledger: Ledger) -> Iterator[str]:
    ledger.verify()
    for name in ledger.heads():
        answers = ledger.shown(name)
        for entry in ledger.entries(name):
            told = shown.read(answers.get(entry.sequence))
            yield json.dumps(_plain(name, entry) | {"answer": None if told is None else asdict(told)})


def _plain(name: str, entry: LedgerEntry) -> dict[str, Any]:
    charge = entry.charge
    charged = (
        None
        if charge is None
        else {
            "epsilon": None if charge.epsilon is None else str(charge.epsilon),
            "renyi": str(charge.renyi),
            "delta": str(charge.delta),
        }
    )
    return {
        "budget": name,
        "sequence": entry.sequence,
        "time": entry.time.isoformat(),
        "kind": entry.kind,
        "query": entry.query,
        "price": entry.price,
        "charge": charged,
    }
