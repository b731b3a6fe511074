"""What tests of the ledger and of its filters share: budgets, losses, a charge."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction as F
from pathlib import Path

from pandas_dp.core import records
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit

DELTA = F(1, 10**6)
UNIT = PrivacyUnit("patient_id", 10, 2, 8)
ONE = Budget.of(1)


def pure(epsilon):
    return PrivacyLoss.pure(F(epsilon))


def gaussian(rho):
    return PrivacyLoss.gaussian(F(rho))


def spend(rule, state, *losses):
    """Charge one after the other; all must be admitted."""
    for loss in losses:
        state = rule.admit(state, rule.charge(loss))
        assert state is not None
    return state


def ask(ledger, epsilon, name="data", key=None, unit=UNIT):
    return ledger.reserve(name, key, "count()", f"epsilon={epsilon}", pure(epsilon), unit)


def unsynced(ledger):
    """Let charges come back before they are on the disk, until the ledger connects anew: for long records."""
    for mode in ("synchronous=OFF", "journal_mode=MEMORY"):
        ledger._store._connection.execute(f"PRAGMA {mode}")


def pages(data):
    return [data[at : at + 4096] for at in range(0, len(data), 4096)]


def journal_of(before, after):
    """The journal that SQLite keeps while it makes one file of another, as its documentation describes it."""
    old, new = pages(before), pages(after)
    changed = [place for place, page in enumerate(old) if page != new[place]]
    head = b"\xd9\xd5\x05\xf9 \xa1c\xd7" + b"".join(
        number.to_bytes(4, "big") for number in (len(changed), 7, len(old), 512, 4096)
    )
    told = [head.ljust(512, b"\0")]
    for place in changed:
        total = (7 + sum(old[place][at] for at in range(4096 - 200, 0, -200))) % 2**32
        told += [(place + 1).to_bytes(4, "big"), old[place], total.to_bytes(4, "big")]
    return b"".join(told)


def cut_short(before, after):
    """The file at each moment while SQLite writes the pages that changed, in their order."""
    held = pages(before)
    yield before
    for place, page in enumerate(pages(after)):
        if held[place : place + 1] != [page]:
            held[place : place + 1] = [page]
            yield b"".join(held)


def older(path, version=3, log=True):
    """Make a closed ledger one of an older version: one more tenth of "data" is charged in a log, which may be missing."""
    beside, kept = Path(f"{path}-wal"), Path(f"{path}.kept")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in records.STORED:
            rows = connection.execute(f"SELECT rowid, result FROM {table}").fetchall()
            for row, text in rows:
                digest = records.fingerprint(text)
                connection.execute(f"UPDATE {table} SET digest = ? WHERE rowid = ?", (digest, row))
        connection.execute("DROP TABLE meta")
        if version < 3:
            connection.execute("DROP TABLE answers")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA journal_mode=WAL")
        row, charge = records.find(connection, "data"), Charge(F(1, 10), F(0), F(0))
        row = row._replace(state=State.from_text(row.state).plus(charge).to_text())
        records.append(connection, row, "query", "count()", "epsilon=0.1", charge)
        for file in (path, beside):
            shutil.copy(file, f"{kept}{file.name}")
    for file in (path, beside) if log else (path,):
        shutil.move(f"{kept}{file.name}", file)
    Path(f"{kept}{beside.name}").unlink(missing_ok=True)
