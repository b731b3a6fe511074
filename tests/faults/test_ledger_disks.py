"""Disks that fail, fill up or may only be read: refused, and nothing is released that was not charged."""

from __future__ import annotations

import os

import pytest
from support.fault_scripts import script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


SYNC_FAILS = """
shim = ctypes.CDLL(None)
ledger = fresh()
for attempt in range(3):
    ask(ledger)
    release()
    shim.shim_fail_syncs(1)
    for _ in range(3):  # the first call meets the error; the next are refused because of it
        try:
            ask(ledger)
        except LedgerError as error:
            assert "did not confirm" in str(error), error
        else:
            raise SystemExit("answered")
    shim.shim_fail_syncs(0)
    assert open_ledger(path) is ledger
print(*check(3))
"""


def test_x13_after_a_failed_sync_the_ledger_is_dead_until_opened_again(tmp_path, shim):
    out, charged = map(int, script(tmp_path, SYNC_FAILS, LD_PRELOAD=shim).split())
    assert out == 3 <= charged <= 6


DISK_FAILS = """
shim = ctypes.CDLL(None)
ledger = fresh()
refused = uncertain = 0
for attempt in range(40):
    if attempt % 2:
        ledger._store._disconnect()  # so that the next call has to read the file
    fail = (shim.shim_fail_reads, shim.shim_fail_writes)[attempt // 2 % 2]
    fail(1 + attempt % 5)
    try:
        ask(ledger)
    except LedgerError as error:
        refused += 1
        assert "nothing was released" in str(error) or "damaged" in str(error) or "cannot be read" in str(error), error
    else:
        release()
    fail(0)
    ledger = open_ledger(path)  # also where the store had refused to go on
    ask(ledger)
    release()
    check(refused)
out, charged = check(refused)
print(refused, charged - out)
"""


def test_x13_a_disk_that_fails_to_read_or_write_refuses_and_the_next_call_works(tmp_path, shim):
    """An error is no commit, but one may come after the charge is down: then it stays."""
    refused, unpaid = map(int, script(tmp_path, DISK_FAILS, LD_PRELOAD=shim).split())
    assert refused >= 20
    assert 0 <= unpaid <= refused


FULL = """
ledger = fresh()
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
refused = 0
for attempt in range(ATTEMPTS):
    # no file may be written beyond this: the journal, or every second time the file itself, or some page of it
    size = attempt // 2 % (os.path.getsize(path) // 4096) * 4096
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 600 if attempt % 2 else 5000, hard))
    try:
        ask(ledger)
    except LedgerError as error:
        refused += 1
        text = str(error)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        release()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    ask(ledger)
    release()
out, charged = check(0)
print(refused, out + refused == 2 * ATTEMPTS, out == charged, "nothing was released" in text)
"""


@pytest.mark.parametrize("attempts", [50, pytest.param(500, marks=pytest.mark.nightly)])
def test_x12_a_full_disk_refuses_the_charge_and_the_next_call_works(tmp_path, attempts):
    refused, *rest = script(tmp_path, FULL.replace("ATTEMPTS", str(attempts))).split()
    assert int(refused) >= attempts / 2
    assert rest == ["True", "True", "True"]


SMALL = """
ledger = fresh()
for _ in range(60):
    ask(ledger)
    release()
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
texts = set()
for page in range(1, os.path.getsize(path) // 4096):
    # the journal fits, and some page of the file does not: nor can what was there be put back
    resource.setrlimit(resource.RLIMIT_FSIZE, (page * 4096, hard))
    for _ in range(2):
        try:
            ask(ledger)
        except LedgerError as error:
            texts.add(str(error))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            release()
            resource.setrlimit(resource.RLIMIT_FSIZE, (page * 4096, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    ask(ledger)
    release()
out, charged = check(0)
print(out == charged, len(texts) > 0, all("nothing was released" in text for text in texts))
"""


def test_a_disk_that_takes_no_page_is_not_called_damage(tmp_path):
    """Whoever is told of damage restores a back-up, and the file is sound."""
    assert script(tmp_path, SMALL).split() == ["True", "True", "True"]


READ_ONLY = """
folder = tempfile.mkdtemp()
os.chmod(folder, 0o755)
path = os.path.join(folder, "visits.dpledger")
ledger = open_ledger(path)
ledger.open("data", Budget.of(1), PrivacyUnit())
ledger.close()
def work():
    if os.getuid() == 0:
        os.setresuid(65534, 65534, 65534)
    else:
        os.chmod(folder, 0o555)
    for name, said in (("visits.dpledger", "read-only"), ("new.dpledger", "cannot be created")):
        try:
            ask(open_ledger(os.path.join(folder, name)))
        except LedgerError as error:
            assert said in str(error)
            continue
        raise SystemExit("charged")
os.chmod(path, 0o666)
assert os.waitpid(child(work), 0)[1] == 0
os.chmod(folder, 0o755)
print(os.listdir(folder))
os.unlink(path)
os.rmdir(folder)
"""


def test_x14_in_a_read_only_folder_nothing_is_charged_and_all_is_left_alone(tmp_path):
    assert script(tmp_path, READ_ONLY) == "['visits.dpledger']"
