"""What holds for all tests: none fails because the machine is busy, and plain ``pytest`` takes minutes.

Hypothesis counts no seconds, neither of an example nor of making one. Without ``PANDAS_DP_TESTS=thorough``, which
``.ci/run`` sets, it draws a part of the examples, others each time. With it, it draws all of them and the same ones each time,
so that a tree that passed passes again, and a test that takes too long must be marked slow. Of a test that is marked
``one_in(n)`` plain ``pytest`` runs one case in n, and the others are slow.
A run that is not thorough has its folders in memory where it can. What is remembered of ledgers goes to a folder of the
tests, not of who runs them. Ctrl-C is Python's own also where a shell started them in the background, with that signal ignored.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

RUN = os.environ.get("PANDAS_DP_TESTS")  # "thorough", or "planted": the same, in memory and with no limit of time
PART = 10  # the part of its examples that a property has in a run that is not thorough
FEWEST = 5
ROOM = 2 << 30  # bytes that folders of tests may take
LONGEST = (
    10  # CPU seconds of a test that is not slow: five times what the rule says, for machines that are slow or busy
)

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=RUN is not None
)
settings.load_profile("any machine")
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported: every core has a worker already
MEMORY = "/dev/shm"


def roomy() -> bool:
    """Whether folders in memory have the room that tests need, and may hold what they compile."""
    if not os.access(MEMORY, os.W_OK):
        return False
    held = os.statvfs(MEMORY)
    return held.f_bavail * held.f_frsize > ROOM and not held.f_flag & os.ST_NOEXEC


if RUN != "thorough" and roomy():  # what thousands of charges wait for is a disk
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"))
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the looks of the question asked last hand to their mechanisms."""
    from support.looks import record_looks

    return record_looks(monkeypatch)


@pytest.fixture(autouse=True, scope="module")
def _books_of_a_file():
    """Each file of tests begins with empty books in memory: whoever opens a budget looks at the names of all."""
    yield
    from pandas_dp.core import ledger

    ledger._memory.clear()


@pytest.fixture(autouse=True)
def _sessions_of_a_folder(request):
    """No session outlives the folder of its test: in the folder of the next one the name of its ledger would be known."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    registry = folder and sys.modules.get("pandas_dp.session.registry")
    for session in list(registry._sessions.values()) if registry else ():
        if not session._closed and (session._ledger.path or "").startswith(f"{os.path.realpath(folder)}{os.sep}"):
            session.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected lives to the end: looking through it for garbage would take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, for a third of the time a worker waits: for a disk, or for a process that it started."""
    return (os.cpu_count() or 1) + 1


def place(item: pytest.Item) -> int:
    """Where a case stands in its list of arguments; of several lists the sum, so that few cases meet all of each."""
    lists = [*item.iter_markers("parametrize")]  # the last one varies fastest
    names = lists[0].args[0]
    at, total = item.callspec.indices[names.split(",")[0].strip() if isinstance(names, str) else names[0]], 0
    for mark in reversed(lists):
        at, own = divmod(at, len(mark.args[1]))
        total += own
    return total


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases that are slow for being one of many; fewer examples of each property, once for all cases of a test."""
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None and place(item) % mark.args[0]:
            item.add_marker(pytest.mark.slow)
    for test in [] if RUN else {item.obj for item in items if hasattr(item, "obj")}:
        chosen = getattr(test, "_hypothesis_internal_use_settings", None)
        if chosen is not None:
            fewer = min(chosen.max_examples, max(chosen.max_examples // PART, FEWEST))
            test._hypothesis_internal_use_settings = settings(chosen, max_examples=fewer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """In a thorough run a long test fails that plain ``pytest`` would run; properties have more examples than there."""
    before = os.times()
    result = yield
    used = sum(os.times()[:4]) - sum(before[:4])  # of this process, and of children that have ended
    longest = LONGEST * (PART if hasattr(getattr(item, "obj", None), "hypothesis") else 1)
    if RUN == "thorough" and used > longest and not {"slow", "nightly"} & {mark.name for mark in item.iter_markers()}:
        pytest.fail(f"{used:.1f} CPU seconds without the mark slow")
    return result
