"""X22: ledgers on disks that several machines share are refused; symbolic and hard links lead to one file or nowhere."""

from __future__ import annotations

import os
import sys

import pytest
from support.fault_scripts import script
from support.ledgers import ONE, UNIT, ask

from pandas_dp.core import files
from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import LedgerError

TABLE = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / {home} rw - {kind} server:/home rw
24 22 0:21 / {home}/scratch rw shared:7 master:3 - xfs /dev/vdb rw
25 22 0:22 / {home}/scratch/two\\040words rw - cifs //server/share rw
26 22 0:23 / {home}/twice rw - autofs systemd-1 rw
27 22 0:24 / {home}/twice rw - btrfs /dev/vdc rw
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder that a substituted table of mounts calls a mount of NFS; `mount` writes the table for another type."""
    home = tmp_path / "home"
    for folder in ("scratch/two words", "scratch/two", "scratchy", "twice"):
        (home / folder).mkdir(parents=True)
    monkeypatch.setattr(files, "MOUNTS", str(tmp_path / "mountinfo"))
    mount(home, "nfs4")
    return home


def mount(home, kind):
    (home.parent / "mountinfo").write_text(TABLE.format(home=home, kind=kind))


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        (".", "nfs4"),
        ("scratch", "xfs"),
        ("scratchy", "nfs4"),
        ("scratch/two", "xfs"),
        ("scratch/two words", "cifs"),
        ("twice", "btrfs"),
        ("..", "ext4"),
    ],
)
def test_the_longest_mount_point_above_the_file_decides(home, folder, kind):
    path = os.path.realpath(home / folder / "visits.dpledger")
    assert files.file_system(path) == kind
    if kind in ("nfs4", "cifs"):
        with pytest.raises(LedgerError, match=rf"\({kind}\).*a disk of this machine: type ledger="):
            open_ledger(path)
        assert not any(name.endswith(("ledger", ".new")) for name in os.listdir(os.path.dirname(path)))
    else:
        ledger = open_ledger(path)
        ledger.open("data", ONE, UNIT)
        ledger.close()


@pytest.mark.parametrize(
    "kind",
    ["nfs", "cifs", "smb3", "9p", "drvfs", "virtiofs", "ceph", "lustre", "fuse", "fuse.sshfs", "fuse.rclone", "vboxsf"],
)
def test_shared_disks_are_refused(home, kind):
    mount(home, kind)
    with pytest.raises(LedgerError, match="locks are not reliable"):
        open_ledger(home / "visits.dpledger")


@pytest.mark.parametrize("kind", ["ext4", "overlay", "tmpfs", "zfs", "fuseblk", "apfs", "fuse.fuse-overlayfs"])
def test_disks_of_this_machine_are_not(home, kind):
    mount(home, kind)
    open_ledger(home / "visits.dpledger").close()


def test_a_link_to_a_shared_disk_is_no_way_in_and_a_ledger_there_stays_as_it_is(home, path):
    there, link = home / "visits.dpledger", home.parent / "link.dpledger"
    os.replace(path, there)
    link.symlink_to(there)
    before = there.read_bytes()
    for name in (there, link):
        with pytest.raises(LedgerError, match="nfs4"):
            open_ledger(name)
    assert there.read_bytes() == before


@pytest.mark.parametrize("table", [None, "", "nonsense\n", "1 2 3 - ext4\n"])
def test_without_a_table_of_mounts_nothing_is_known_and_nothing_refused(home, table):
    place = home.parent / "mountinfo"
    place.unlink() if table is None else place.write_text(table)
    assert files.file_system(str(home / "x")) == ""
    open_ledger(home / "visits.dpledger").close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has this table of mounts")
def test_the_table_of_this_machine():
    assert files.file_system("/proc/self/mountinfo") == "proc"


LINKS = """
ledger = fresh()
os.symlink(path, path + ".link")
def join(name):
    other = open_ledger(name)
    assert not other.open("data", Budget.of(F(total, 10)), PrivacyUnit())
    ask(other)
    other.close()
ledger.close()
os.chdir(os.path.dirname(path))
codes = [os.waitpid(child(lambda: join(name)), 0)[1] for name in (path, path + ".link", os.path.basename(path))]
ledger = open_ledger(path)
ask(ledger)
os.link(path, path + ".second")  # while this process has it open
def refused():
    for name in (path + ".second",):
        try:
            join(name)
        except LedgerError as error:
            assert "second name" in str(error), error
            continue
        raise SystemExit("opened")
ledger.close()
codes.append(os.waitpid(child(refused), 0)[1])
os.unlink(path + ".second")
print(codes, open_ledger(path).state("data").epsilon)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_processes_that_come_by_other_names_spend_from_one_budget(tmp_path):
    assert script(tmp_path, LINKS) == "[0, 0, 0, 0] 2/5"


def test_a_renamed_ledger_is_noticed_while_it_is_open(path):
    """Its log stays behind: whoever has it open must not go on under the old name, nor make a new file there."""
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    os.rename(path, path.with_name("new name"))
    with pytest.raises(LedgerError, match="removed"):
        ask(ledger, "0.1")
    with pytest.raises(LedgerError, match="cannot be read"):
        open_ledger(path)
    assert not path.exists()
    ledger.close()
