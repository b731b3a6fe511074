"""Joining a budget that is there already: how worker processes, threads and restarted programs share one."""

from __future__ import annotations

import os

from pandas_dp import opening
from pandas_dp.calls import example
from pandas_dp.core.files import canonical
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.records import plain
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, LedgerError, did_you_mean
from pandas_dp.names import check_name
from pandas_dp.session import PART, Session


@example("pandas_dp.open_session('visits.dpledger', name='data')")
def open_session(ledger: str | os.PathLike[str], name: str = "data") -> Session:
    """Return the session of a budget that a ledger file holds already, on the terms it has there.

    Unit, relation and total are read from the ledger and nothing new is opened, so a worker process cannot get them wrong:
    ``df.dp.protect(session=pandas_dp.open_session("visits.dpledger"))``.

    Parameters
    ----------
    ledger : path
        The file that keeps the books, on a disk of this machine.
    name : str
        The budget's name in it.

    Returns
    -------
    Session
        In one process always the same while it is not closed. Under ``replace_one`` it does not take the number of rows of a
        table for public: ``count()`` is charged and noisy.

    Raises
    ------
    LedgerError
        There is no such file, or no such budget in it; neither is ever made here.
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    All processes that open the file draw on the one budget: a charge is one transaction of the file, on the disk before
    anything is released, so together they get what one process would get. It does not matter how a process was started (fork,
    spawn, forkserver, a pool). A budget in memory cannot be shared: a fork is refused (`ForkedSessionError`), and another
    program does not find it.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> books = os.path.join(folder.name, "ages.dpledger")
    >>> df.dp.protect(epsilon=3, ledger=books).close()
    >>> session = pandas_dp.open_session(books)  # as a worker does
    >>> pd.DataFrame({"age": [28, 71]}).dp.protect(session=session).left
    'epsilon=3'
    >>> session.close()
    >>> folder.cleanup()
    """
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError("name must be a text: pandas_dp.open_session('visits.dpledger', name='data')")
    if PART in name:
        raise ArgumentValueError(
            f"name={name!r} is a part of a budget: open the whole one, name={name.partition(PART)[0]!r}, and ask for the part "
            "of your frame, such as df.dp.allot('nightly', epsilon=1); it is paid once"
        )
    path = canonical(ledger)
    line = f"df.dp.protect(epsilon=3, ledger={os.path.basename(path)!r}, name={name!r})"
    if not os.path.isfile(path):
        raise LedgerError(
            f"there is no ledger of this name, and open_session() makes none: type its path, or once {line}"
        )
    opened = open_ledger(path)
    terms = opened.budget(name)
    if terms is None:
        check_name(plain(name), opened.heads())
        close = did_you_mean(name, [known for known in opened.heads() if PART not in known])
        raise LedgerError(f"the ledger has no budget named {name!r}{close}; to open one type once {line}")
    return opening.rejoin(opened, name, terms[1])
