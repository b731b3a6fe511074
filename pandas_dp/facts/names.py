"""Names of budgets and of their parts: two that look the same are one, or the second is refused; and which are likely slips."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from pandas_dp.core.records import plain as kept
from pandas_dp.errors import ArgumentValueError

# of these categories nothing is seen: controls, formats, halves of a character, such as do not exist, spaces of every width
UNSEEN = ("Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp")
# nor of these letters and marks: fillers, blanks, what chooses among the forms of the character before
BLANKS = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)

# of which the third changes nothing for any character alone, after or between letters, or under an accent
MOST_STEPS = 4
SHORTEST = 4  # letters of a word that can be a slip of another one: of fewer, one is much


def check_name(name: str, known: Iterable[str], argument: str = "name") -> None:
    """Refuse a name for a new budget that cannot be told from another one by looking at it.

    Parameters
    ----------
    name : str
    known : iterable of str
        Names that the ledger has. One of them is never refused, whatever it is.
    argument : str
        By which it is typed.

    Raises
    ------
    ArgumentValueError
        With the name to type instead.

    Examples
    --------
    >>> check_name("Visits", ["visits"])
    Traceback (most recent call last):
        ...
    pandas_dp.errors.ArgumentValueError: the budget 'visits' exists: type name='visits'
    """
    known = list(known)
    if kept(name) in known:
        return
    wanted = canonical(name)
    same = next((other for other in known if canonical(other) == wanted), None)
    if same is not None:
        raise ArgumentValueError(f"the budget {same!r} exists: type {argument}={same.rpartition('::')[2]!r}")
    plain = _plain(name)
    if name != plain:
        typed = plain.rpartition("::")[2] or "visits"
        raise ArgumentValueError(
            f"{argument} must not look like another name: type it without invisible characters, spaces at its ends or two in "
            f"a row, or letters of another width, {argument}={typed!r}"
        )


@lru_cache(maxsize=1 << 16)  # a program may open thousands of budgets, and each looks at the names of all
def canonical(name: str) -> str:
    """What two names that differ in case, width, spaces or characters that are not seen have in common.

    Examples
    --------
    >>> canonical("Straße 1") == canonical(" STRASSE1\u200b")
    True
    """
    return _settled(lambda text: "".join(_plain(text.casefold()).split()), name)


def is_slip(name: str, other: str) -> bool:
    """Whether a name is likely another one, mistyped: no number differs, and each word is close to that at its place.

    ``ward_a`` and ``ward_b`` are no slips of each other, nor are ``male`` and ``female``, nor names of two years.

    Examples
    --------
    >>> is_slip("hosptial", "hospital"), is_slip("visits 2025", "visits 2026")
    (True, False)
    """
    typed, there = (
        re.findall(r"[^\W\d_]+|\d+", unicodedata.normalize("NFKC", one).casefold()) for one in (name, other)
    )
    if "".join(typed) == "".join(there):
        return bool(typed)
    return len(typed) == len(there) and all(map(_close, typed, there))


def _close(word: str, other: str) -> bool:
    """Whether one letter behind the first is missing, is another one, or stands before its neighbour.

    What differs in the first letter is another word, as *unpaid* is; another last one counts on, as in *test B*, and so do
    Roman numerals.
    """
    if word == other:
        return True
    if min(len(word), len(other)) < SHORTEST or not (word + other).isalpha() or {*word, *other} <= {*"ivxlcdm"}:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    typed, there = word[start:], other[start:]
    another = typed[1:] == there[1:] and len(typed) > 1
    exchanged = typed[1::-1] + typed[2:] == there
    return start > 0 and (another or exchanged or typed[1:] == there or typed == there[1:])


def _plain(name: str) -> str:
    """A name as one would type it: its usual characters, one space between words."""
    return _settled(_seen, name)


def _seen(name: str) -> str:
    if name.isascii() and name.isprintable():
        return " ".join(name.split())
    usual = unicodedata.normalize("NFKC", re.sub(BLANKS, "", name))
    seen = (c if unicodedata.category(c) not in UNSEEN else " " if c.isspace() else "" for c in usual)
    return " ".join("".join(seen).split())


def _settled(step: Callable[[str], str], text: str) -> str:
    """What taking a step again and again comes to: some characters become others that another step takes away."""
    for _ in range(MOST_STEPS):
        text = step(text)
    return text
