"""What a session says of its budget: amounts, entries, a plot, the certificate, and how it shows itself."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import pandas as pd

from pandas_dp.arguments import positive_int
from pandas_dp.calls import explain
from pandas_dp.core.budget import Budget
from pandas_dp.core.gate import check_outside
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import PandasDPError
from pandas_dp.report import odometer
from pandas_dp.report.allowance import group_text
from pandas_dp.report.books import COLUMNS, Answered, Books
from pandas_dp.report.budget_plot import draw_budget
from pandas_dp.report.odometer import Odometer
from pandas_dp.report.session_card import session_card, session_text


@explain
class Statements:
    """What follows of a budget from its ledger alone."""

    name: str
    unit: PrivacyUnit
    _ledger: Ledger
    _typical: tuple[str, PrivacyLoss] | None
    _answered: Answered
    _closed: bool
    _implicit: bool
    _whole: Any  # the session that paid for this one, where it is a part
    _held: dict[str, Any]  # its tables

    @property
    def budget(self) -> Budget:
        """The total as the ledger has it: epsilon, delta, the part of delta that mechanisms may use up, and the accountant."""
        return self._ledger.rule(self.name).budget

    @property
    def spent(self) -> Odometer:
        """What is spent, as a text, with ``.epsilon``, ``.delta`` and ``.guarantee``; see `Odometer`."""
        return odometer.spent(self._ledger.rule(self.name), self._ledger.state(self.name), self.unit)

    @property
    def left(self) -> Odometer:
        """What is left, as ``spent``; with a delta first how many more calls like the last one that is."""
        return odometer.left(self._ledger.rule(self.name), self._ledger.state(self.name), self.unit, self._typical)

    def group(self, size: int) -> str:
        """What the whole budget promises a group of units, such as a household of three, in words.

        Parameters
        ----------
        size : int

        Returns
        -------
        str

        Notes
        -----
        Tables that differ in k units are k steps apart: k epsilon, and delta (e^(k epsilon) - 1) / (e^epsilon - 1). Source:
        Dwork, Roth 2014, Theorem 2.2.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="group example")
        >>> session.group(3)
        'any 3 rows together: epsilon=9'
        """
        promised = odometer.promised(self._ledger.rule(self.name), self._ledger.state(self.name))
        return group_text(promised, self.unit, positive_int(size, "size"))

    @property
    def releases(self) -> pd.DataFrame:
        """Every entry of the ledger for this budget: what was asked, when, and its price. Prints short; columns are full."""
        entries = self._ledger.entries(self.name)
        rows = [(e.sequence, e.time, e.kind, e.query, e.price) for e in entries]
        return Books(rows, columns=list(COLUMNS))

    def plot(self, ax: Any = None) -> Any:
        """Draw what was spent after each answer, as ``session.spent.epsilon`` counts it, and the total as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made without one.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            Without matplotlib: ``pip install 'pandas-dp[plot]'``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="session plot example")
        >>> from matplotlib.figure import Figure
        >>> session.plot(Figure().subplots()).get_title()
        "privacy budget 'session plot example'"
        """
        return draw_budget(self._ledger.rule(self.name), self.unit, self._ledger.entries(self.name), self.name, ax)

    def report(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Make the certificate of this budget and its parts: one page of HTML for whoever answers for the data.

        Parameters
        ----------
        path : str or path, optional
            Where to write it; a file or link of this name is replaced at one stroke. None: the text is returned, which a
            prompt shows as one line.

        Returns
        -------
        str or None

        Raises
        ------
        LedgerError
            The ledger is damaged: its whole chain of entries is read first.

        Notes
        -----
        What was promised, spent, asked and vouched for, and what was answered (of a budget in memory the latest thousand
        answers). Nothing of the data but released values is on it. It loads nothing and runs no script.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="report example")
        >>> session.report().startswith("<!DOCTYPE html>")
        True
        """
        from pandas_dp.report import certificate  # here, so that importing the package costs little

        check_outside()  # what a user's function writes may tell of a row
        text = certificate.certificate(self._ledger, self.name, self._answered, (self._whole or self)._held)
        return certificate.write(text, path)

    def __repr__(self) -> str:
        """Say what is protected, spent and left; nothing of the data."""
        try:
            return session_text(*self._told)
        except PandasDPError as error:
            return f"<pandas_dp session {self.name!r}: {error}>"

    def _repr_html_(self) -> str | None:
        with contextlib.suppress(PandasDPError):  # the plain text says what is wrong
            return session_card(*self._told)
        return None

    @property
    def _told(self) -> tuple[Any, ...]:
        standing = "closed" if self._closed else "implicit" if self._implicit else ""
        return self._ledger, self.name, self.unit, self._typical, standing
