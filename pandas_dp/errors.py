"""Every error the package raises. None of them ever quotes a cell, a private count or a key of the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

LONGEST_NAME = 60  # longer names are not compared
OF_RHO = (
    ": epsilon of a rho, by each rule: pandas_dp.accounting.compose([pandas_dp.accounting.Gaussian(0.5)], delta=1e-6)"
)
RHO_OF = ": the rho that a total admits is told by df.dp.protect(epsilon=1, delta=1e-6, accountant='zcdp').left"
CHOSEN = ": a delta is chosen, and the epsilon at it is told by pandas_dp.accounting.compose([0.1, 0.5], delta=1e-6)"
_SAME = {  # other words for a question, which differ from it by more than a slip
    "mean": "average avg",
    "std": "stdev stddev sd standard_deviation",
    "var": "variance",
    "sum": "total",
    "quantile": "percentile quantiles percentiles",
    "count": "len length n",
    "nunique": "count_distinct distinct n_unique",
    "corr": "correlation",
    "cov": "covariance",
    "report": "to_html html certificate save export",
    "releases": "history log queries questions ledger",
    "compose": "composition compare",
    "close": "reset unprotect clear end stop",
    "left": "remaining",
    "scale": "noise sigma noise_scale",
    "value": "result answer number estimate",
    "to_frame": "to_df",
}
OF_BUDGETS = {  # what is none of a session
    "allot": ": a frame spends a part of the budget, df.dp.allot('nightly', epsilon=1)",
    "partition": ": frames spend a part of the budget, df.dp.partition('ward', ['A', 'B'], epsilon=1)",
    "total": ": .budget is the total, .spent and .left are parts of it",
    "accountant": ": it is in .budget",
    "period": ": it comes before the price, df.dp.period('2026-11').dp(epsilon=0.5)",
    "save": ": a budget in memory ends with Python; open one with ledger='visits.dpledger' before anything is asked",
    "refund": ": charges are never refunded",
    "verify": ": it is a command, pandas-dp ledger verify visits.dpledger",
    "backup": ": it is a command, pandas-dp ledger backup visits.dpledger monday.dpledger",
}
SAME = {other: name for name, others in _SAME.items() for other in others.split()}


def closest(name: object, known: Iterable[object], near: float = 0.6) -> str:
    """The closest of the public names to an unknown one; an empty text where none is as near."""
    from difflib import get_close_matches  # only for mistakes: importing the package shall cost little

    names = [other for other in known if isinstance(other, str) and len(other) <= LONGEST_NAME]
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        return ""
    words = {other: meant for other, meant in SAME.items() if meant in names} | dict(zip(names, names, strict=True))
    return words.get(name.lower()) or next((words[one] for one in get_close_matches(name, words, n=1, cutoff=near)), "")


def did_you_mean(name: object, known: Iterable[object], near: float = 0.6) -> str:
    """Return the end of a message about an unknown name: the closest of the public ones, if one is close."""
    close = closest(name, known, near)
    return f"; did you mean {close!r}?" if close else ""


def misspelt(module: str, known: Iterable[str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a module: it says of a name that is none which one is close, and how a rho is converted."""

    def refuse(name: str) -> NoReturn:
        low = name.lower()
        told = OF_RHO if "rho" in low or "zcdp" in low else did_you_mean(name, known)
        told = (
            RHO_OF if low in ("rho", "rho_for", "rho_of", "rho_from") else CHOSEN if low.startswith("delta") else told
        )
        raise AttributeError(f"module {module!r} has no attribute {name!r}{told}", name=name)

    return refuse


def meant_file(path: str | os.PathLike[str]) -> str:
    """Return the end of a message about a file that is not there: one in its folder whose name is close, if there is one."""
    folder, name = os.path.split(os.fspath(path))
    with suppress(OSError, ValueError):  # a name that no folder has
        return did_you_mean(name, sorted(os.listdir(folder or ".")))
    return ""


class Spelled:
    """Says of a name that an object has not got which of its names is close, where Python and pandas say no more than that."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Return a label, where this is an object of pandas."""
            try:
                return super().__getattr__(name)
            except AttributeError:
                told = "" if name.startswith("_") else self._spelt(name)
            # with its name, or Python would add what it takes for close
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{told}", name=name)

        def _spelt(self, name):
            """Say which name is close."""
            known = {*dir(type(self)), *getattr(self, "__dict__", ())} - {
                name
            }  # dir() of an object of pandas asks it for names
            return did_you_mean(
                name, sorted(other for other in known if not other.startswith("_")), 0.7
            )  # pandas has many


class PandasDPError(Exception):
    """Base class: ``except pandas_dp.PandasDPError`` catches whatever the package refuses."""

    # of a line that the call which was typed can say better; see `facts.argument_help.Line`
    _needs: tuple[str, tuple[tuple[str, str], ...], str] | None = None
    _priced: tuple[str, Mapping[str, str]] | None = None  # a call at another price, and what of that is typed otherwise
    _plain = ""  # what takes a plain epsilon, where the price is none
    _slip: tuple[str, str] | None = None  # a name that is none, and the one that is close
    _unknown: object = None  # the name of what is no column, of which the frame may know more

    def _render_traceback_(self) -> list[str]:
        """Show a notebook the lines that led here, not those of the package: IPython asks for this."""
        import traceback  # only for mistakes, as above

        inside = os.path.dirname(__file__) + os.sep
        theirs: list[traceback.FrameSummary] = []
        for frame in traceback.extract_tb(self.__traceback__):
            if "IPython" in frame.filename:  # what runs the cell
                theirs = []
            elif frame.line and not frame.filename.startswith(inside):
                theirs.append(frame)
        lines = [f"line {frame.lineno}: {frame.line}" for frame in theirs]
        return [*lines, f"{type(self).__name__}: {self}"]


class ArgumentValueError(PandasDPError, ValueError):
    """An argument has a value that cannot be used. Nothing was read and nothing was charged."""


class ArgumentTypeError(PandasDPError, TypeError):
    """An argument, or the dtype of a named column, is of a kind that cannot be used. Nothing was charged."""


def of_price(error: PandasDPError) -> PandasDPError:
    """The same error, of a price that should be a plain epsilon: what knows the question names the one to type."""
    error._plain = str(error).partition(": ")[0]
    return error


@contextmanager
def told(before: str = "", behind: str = "") -> Iterator[None]:
    """Errors of arguments say more than what checks of them know: where it was, or what to type."""
    try:
        yield
    except (ArgumentTypeError, ArgumentValueError) as error:
        error.args = (f"{before}{str(error).removeprefix(before)}{behind}",)
        if error._needs is not None:
            why, needs, otherwise = error._needs
            error._needs = f"{before}{why.removeprefix(before)}", needs, f"{otherwise}{behind}"
        raise


class BudgetExceededError(PandasDPError):
    """The budget cannot pay this query. Nothing was read and nothing was charged.

    Attributes
    ----------
    asked, spent, left : str
        The price of the refused query, what is spent and what is left: exact, or rounded after "about"
        (spent epsilon and delta are rounded up).
    currency : str
        The currency that ran out: ``"epsilon"``, ``"delta"`` or ``"Renyi divergence"``.
    fits : str
        The largest price that would still fit.
    where : str
        Which periods cannot pay, where the budget is for each period; empty elsewhere.
    """

    _raised = ""  # the line that raises the total, where nothing fits

    def __init__(self, asked: str, spent: str, left: str, currency: str, fits: str, where: str = "") -> None:
        super().__init__(asked, spent, left, currency, fits, where)
        self.asked, self.spent, self.left, self.currency, self.fits, self.where = (
            asked,
            spent,
            left,
            currency,
            fits,
            where,
        )

    def __str__(self) -> str:
        """Return the sentence a user reads."""
        more = f"; to raise the total, on record: {self._raised}" if self._raised else ""
        return (
            f"over budget: this asks for {self.asked}; {self.fits}{more} "
            f"(not enough {self.currency}: spent {self.spent}; left {self.left})" + f". {self.where}" * bool(self.where)
        )


class UnverifiedFrameError(PandasDPError):
    """The frame is not one a session protects. The message never depends on the rows: only the name of the variable varies."""

    TEXT = "this DataFrame is not the one that was protected, and no df.dp step made it"
    STEPS = "df.dp.query('age >= 65') in place of df[df['age'] >= 65]"
    MORE = (
        "; ask the result through its .dp, because its own .count() is exact; unrelated data: protect them under another "
        "name=. Later changes to a protected frame do not affect its answers"
    )

    def __init__(self, text: str = TEXT, lines: Iterable[str] = ()) -> None:
        self._lines = tuple(lines)  # those that put the frame on a budget
        super().__init__(
            "\n".join(
                [text, *self._lines, *([f"or choose rows by a step: {self.STEPS}{self.MORE}"] if self._lines else [])]
            )
        )

    def _choose(self, line: str) -> None:
        """Tell first the step that chooses the same rows, and then how they join a budget."""
        told, *lines = str(self).removesuffix(self.MORE).split("\n")[:-1]
        self.args = ("\n".join([told, f"choose rows by a step: {line}{self.MORE}", *(f"or {one}" for one in lines)]),)


class NoSessionError(PandasDPError):
    """The session of this frame was closed, or there is none where one is needed."""


class UnknownSessionError(PandasDPError):
    """The frame carries the id of a session that this process does not know."""


class ForkedSessionError(PandasDPError):
    """A ledger in memory belongs to the process that opened it; a forked child may not spend from it."""


class LedgerError(PandasDPError):
    """The ledger cannot be opened, read or written. Nothing is released without a durable charge."""

    _budgets: tuple[str, ...] = ()  # of which the line that goes on is to be shown below


class LedgerBusyError(LedgerError):
    """Another process holds the ledger's lock. Nothing was charged."""


class QueryFailedError(PandasDPError):
    """Something went wrong after the charge. The text is always the same; the price stays spent."""

    TEXT = "the query could not be answered; its price stays spent"

    def __init__(self, text: str = TEXT) -> None:
        super().__init__(text)


class StreamClosedError(PandasDPError):
    """The stream has given the answers that were paid for, was closed, or failed. What it cost stays spent."""

    TEXT = "this stream is closed: open another one, such as df.dp(epsilon=0.5).above_threshold(1000)"

    def __init__(self, text: str = TEXT) -> None:
        super().__init__(text)


class StepFailedError(PandasDPError):
    """A row-wise step could not be applied. The text is always the same."""

    TEXT = "the step could not be applied to this table"

    def __init__(self, text: str = TEXT) -> None:
        super().__init__(text)


class DataFileError(PandasDPError, OSError):
    """A file of data cannot be read, or one with answers not written. The text says nothing of what the file holds."""
