"""A ledger of the older form, with charges in a log beside it, dies anywhere while it is taken into the new form.

After every death all files together, copied or moved, go on with every charge, once; the file alone has every charge or is
refused. Without its log it is charged nothing, whatever a death leaves beside it. Where the file may only be read nothing is
changed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from contextlib import closing
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from support.fault_scripts import script
from support.ledgers import ONE, UNIT, ask, older

from pandas_dp.core import records
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import LedgerError
from pandas_dp.session import ledger_forms

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

DEATHS = """
import shutil
from contextlib import suppress
from pathlib import Path
from tests.support.ledgers import older
shim, home, kept = ctypes.CDLL(None), os.path.dirname(path), tempfile.mkdtemp()
seen = {"together": 0, "alone": 0, "refused": 0}
ledger = fresh()
paid = ledger.reserve("data", "k", "count()", "epsilon=0.1", PrivacyLoss.pure(F(1, 10)), PrivacyUnit())
ledger.record("data", paid, "[1]", "said")
ledger.close()
older(Path(path), VERSION)  # with a second charge in its log
NAMES = [path, path + "-wal"]
for name in NAMES:
    shutil.copy(name, kept)

def clear(folder):
    for name in os.listdir(folder):
        if name.startswith(os.path.basename(path)) and name != os.path.basename(released):
            os.unlink(os.path.join(folder, name))

def spent(where):
    "What a file holds when it is opened, and takes one charge more; None where it is refused."
    try:
        ledger = open_ledger(where)
    except LedgerError:
        return None
    try:
        before = ledger.state("data").epsilon * 10
        ledger.verify()
        with suppress(LedgerError):
            ask(ledger)
            assert ledger.state("data").epsilon * 10 == before + 1
            return before
    finally:
        ledger.close()

def elsewhere(names):
    "Copies of some files, opened by an account that never saw them."
    folder = tempfile.mkdtemp()
    for name in names:
        if os.path.exists(name):
            shutil.copy(name, folder)
    state, os.environ["XDG_STATE_HOME"] = os.environ.get("XDG_STATE_HOME"), folder
    try:
        return spent(os.path.join(folder, os.path.basename(path)))
    finally:
        os.environ["XDG_STATE_HOME"] = state
        shutil.rmtree(folder)

def work():
    shim.HOW(kills * STEP + 1)
    open_ledger(path)
    shim.HOW(0)

kills = 0
while True:
    clear(home)
    for name in NAMES:
        shutil.copy(os.path.join(kept, os.path.basename(name)), name)
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    status = os.waitpid(child(work), 0)[1]
    there = sorted(os.path.join(home, name) for name in os.listdir(home) if name.startswith(os.path.basename(path)))
    assert elsewhere(there) == 2, kills
    seen["together"] += 1
    alone = elsewhere([path])
    assert alone in (None, 2), (kills, alone)
    seen["refused" if alone is None else "alone"] += 1
    moved = tempfile.mkdtemp()  # alone, and what was beside it is brought after it
    for name in there:
        shutil.move(name, moved)
    assert spent(os.path.join(moved, os.path.basename(path))) == 2, kills
    ledger = open_ledger(os.path.join(moved, os.path.basename(path)))
    told = [entry.kind for entry in ledger.entries("data")]
    assert told.count("query") == 3 and told.count("converted") == 1 and ledger.stored("data", "k") == (paid, "[1]"), told
    ledger.close()
    shutil.rmtree(moved)
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    kills += 1
print(kills, *seen.values())
"""


@pytest.mark.parametrize(("version", "step"), [(3, 7), *(pytest.param(v, 1, marks=pytest.mark.slow) for v in (2, 3))])
@pytest.mark.parametrize("how", ["shim_kill_at_call", "shim_kill_at_write"])
def test_death_anywhere_in_the_change_loses_no_charge_and_pays_none_twice(tmp_path, shim, how, version, step):
    code = DEATHS.replace("HOW", how).replace("VERSION", str(version)).replace("STEP", str(step))
    kills, together, alone, refused = map(int, script(tmp_path, code, LD_PRELOAD=shim).split())
    assert kills * step >= 20
    assert together == alone + refused == kills + 1
    assert alone > 0  # the last one at least
    assert refused > 0  # the first one at least: its log is not there


LOGLESS = """
from pathlib import Path
from pandas_dp.session import ledger_forms
from tests.support.ledgers import older
shim, home, begun = ctypes.CDLL(None), os.path.dirname(path), 0
fresh().close()
ask(ledger := open_ledger(path))
ledger.close()
older(Path(path), VERSION, log=False)  # a second charge was in its log
kept = Path(path).read_bytes()

def work():
    shim.HOW(kills * STEP + 1)
    open_ledger(path)
    shim.HOW(0)

kills = 0
while True:
    for name in os.listdir(home):
        if name.startswith(os.path.basename(path)) and name != os.path.basename(released):
            os.unlink(os.path.join(home, name))
    Path(path).write_bytes(kept)
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    status = os.waitpid(child(work), 0)[1]
    begun += Path(path).read_bytes() != kept
    ledger = open_ledger(path)
    ledger.verify()
    told = [entry.query for entry in ledger.entries("data") if entry.kind == "converted"]
    assert told == [ledger_forms.CONVERTED[False]], (kills, told)
    try:
        ask(ledger)
    except LedgerError as error:
        assert "its log was not here" in str(error), error
    else:
        raise AssertionError((kills, "charged"))
    assert ledger.state("data").epsilon * 10 == 1
    ledger.close()
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    kills += 1
print(kills, begun)
"""


@pytest.mark.parametrize(("version", "step"), [(3, 3), *(pytest.param(v, 1, marks=pytest.mark.slow) for v in (2, 3))])
@pytest.mark.parametrize("how", ["shim_kill_at_call", "shim_kill_at_write"])
def test_death_anywhere_in_the_change_leaves_the_doubt_about_a_log_that_is_missing(tmp_path, shim, how, version, step):
    code = LOGLESS.replace("HOW", how).replace("VERSION", str(version)).replace("STEP", str(step))
    kills, begun = map(int, script(tmp_path, code, LD_PRELOAD=shim).split())
    assert kills * step >= 15
    assert begun > 1  # some died between the first byte and the last


FAULT = """
from pandas_dp.session import ledger_forms
convert = ledger_forms._convert

def hasty(path):
    "The twin: it looks at the file first, and takes the log for done."
    os.unlink(path + "-wal") if os.path.exists(path + "-wal") else None
    convert(path)
"""


def test_a_change_that_forgets_the_log_is_found(tmp_path, shim):
    code = DEATHS.replace("HOW", "shim_kill_at_write").replace("VERSION", "3").replace("STEP", "1")
    code = code.replace("kills = 0\n", FAULT + "ledger_forms._convert = hasty\nkills = 0\n", 1)
    with pytest.raises(AssertionError, match="AssertionError: 0"):
        script(tmp_path, code, LD_PRELOAD=shim)


# -- files and logs of several moments ---------------------------------------------------------------------------------


def moments(path, text, charges=12):
    """An older ledger at each of its moments: its charges, and bytes of the file and of its log."""
    ledger = open_ledger(path)
    ledger.open("data", Budget.of(100), UNIT)
    ask(ledger, "0.1")
    ledger.close()
    older(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint=0")
        charged = 2
        for number in range(charges):
            row, charge = records.find(connection, "data"), Charge(Fraction(1, 10), Fraction(0), Fraction(0))
            row = row._replace(state=State.from_text(row.state).plus(charge).to_text())
            connection.execute("BEGIN")
            records.append(connection, row, "query", text, "epsilon=0.1", charge)
            connection.execute("COMMIT")
            charged += 1
            yield charged, path.read_bytes(), Path(f"{path}-wal").read_bytes()
            if number % 4 == 2:
                connection.execute("PRAGMA wal_checkpoint(RESTART)")  # the log begins anew
                yield charged, path.read_bytes(), Path(f"{path}-wal").read_bytes()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", ["count()", pytest.param("count()" * 700, id="long")])
def test_a_log_of_another_moment_takes_nothing_back(tmp_path, monkeypatch, text):
    """Of all pairs of a file and a log: what is charged has all charges of both, and its chain is whole; else it is refused."""
    kept, seen = [*moments(tmp_path / "visits.dpledger", text)], Counter()
    for (place, (_, file, _)), (other, (charged, _, log)) in product(enumerate(kept), repeat=2):
        folder = tmp_path / f"{place}-{other}"
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        path = folder / "visits.dpledger"
        path.write_bytes(file)
        alone = dict(ledger_forms._held(str(path))).get("data", 0) - 1  # of its entries one is the opening
        Path(f"{path}-wal").write_bytes(log)
        try:
            ledger = open_ledger(path)
        except LedgerError:
            assert place != other
            assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == (file, log)
            seen["refused"] += 1
            continue
        ledger.verify()
        assert ledger.state("data").epsilon * 10 >= max(charged, alone), (place, other)
        ask(ledger, "0.1")
        ledger.close()
        seen["charged"] += 1
    assert seen["charged"] >= len(kept)
    assert text == "count()" or seen["refused"] > len(kept)


# -- where it may only be read, and under other names ------------------------------------------------------------------


@pytest.fixture
def logged(tmp_path):
    """An older ledger with a charge in its log."""
    folder = tmp_path / "books"
    folder.mkdir()
    path = folder / "visits.dpledger"
    ledger = open_ledger(path)
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.1")
    ledger.close()
    older(path)
    return path


def held(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def goes_on(path, spent="0.2"):
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == Fraction(spent)
    ask(ledger, "0.1")
    ledger.verify()
    ledger.close()
    assert [left for left in held(path.parent) if left.endswith(("-wal", "-shm", "-journal"))] == []


@pytest.mark.parametrize("which", ["file", "folder"])
def test_one_that_may_only_be_read_stays_as_it_is(logged, monkeypatch, which):
    place = logged if which == "file" else logged.parent
    mode, before = stat.S_IMODE(os.stat(place).st_mode), held(logged.parent)
    os.chmod(place, mode & 0o555)
    access = os.access
    # root may write whatever the mode says
    monkeypatch.setattr(os, "access", lambda one, how: str(one) != str(place) and access(one, how))
    with pytest.raises(LedgerError, match=r"read-only, and an older version wrote it: open it once where it may be"):
        open_ledger(logged)
    assert held(logged.parent) == before
    monkeypatch.undo()
    os.chmod(place, mode)
    goes_on(logged)


MOUNTED = """
mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} || exit 77
exec {python} -c '
from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import LedgerError
try:
    open_ledger("{folder}/visits.dpledger")
except LedgerError as error:
    print(error)
'
"""


def test_one_on_a_disk_that_is_mounted_for_reading_stays_as_it_is(logged):
    before = held(logged.parent)
    code = MOUNTED.format(folder=logged.parent, python=sys.executable)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(["unshare", "-m", "sh", "-c", code], capture_output=True, text=True, env=environment)
    if done.returncode in (1, 77) and not done.stdout:
        pytest.skip("no right to mount")
    assert "read-only, and an older version wrote it" in done.stdout, done.stderr
    assert held(logged.parent) == before
    goes_on(logged)


def test_a_link_leads_to_the_log_of_the_file_itself(logged, tmp_path):
    """A file that looks like a log beside the link is none of it."""
    link = tmp_path / "link.dpledger"
    link.symlink_to(logged)
    Path(f"{link}-wal").write_bytes(b"another log")
    ledger = open_ledger(link)
    assert ledger.state("data").epsilon == Fraction("0.2")
    ledger.close()
    assert Path(f"{link}-wal").read_bytes() == b"another log"
    assert link.is_symlink()
    goes_on(logged)


def test_a_log_that_is_a_link_is_not_followed(logged, tmp_path):
    log, away = Path(f"{logged}-wal"), tmp_path / "away"
    log.rename(away)
    log.symlink_to(away)
    before = held(logged.parent)
    with pytest.raises(LedgerError):
        open_ledger(logged)
    assert held(logged.parent) == before
    log.unlink()
    away.rename(log)
    goes_on(logged)


def test_a_second_name_is_refused_and_nothing_changed(logged, tmp_path):
    os.link(logged, tmp_path / "second.dpledger")
    before = held(logged.parent)
    for name in (logged, tmp_path / "second.dpledger"):
        with pytest.raises(LedgerError, match="second name"):
            open_ledger(name)
    assert held(logged.parent) == before
    (tmp_path / "second.dpledger").unlink()
    goes_on(logged)
