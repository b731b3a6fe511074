"""How checks begin and end: which argument they are about, and how it is typed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pandas_dp.errors import closest
from pandas_dp.facts.public_only import COLUMNS
from pandas_dp.facts.written import is_expression

if TYPE_CHECKING:
    from pandas_dp.facts.advice import Refused

BY_NAME = (*COLUMNS, "source", "target", "weight")  # arguments that are columns
# patterns that few calls need are compiled where they are, so that importing the package costs little
TOLD = r"(?s)(.+?)(?:: |, such as )(\w+)=(.+?)((?:, or |; | or |\. ).*)?"
BEGUN = r"(?s)((\w+)=? (?:must|may|goes|go|takes|is|are|at most) [^:]*)((?:: .*)?)"
WORDS = {"hierarchical": "ranges", "hierarchy": "ranges", "tree": "ranges", "cumulative": "ranges"}
Parameters = Mapping[str, inspect.Parameter]


def named_in(text: str, parameters: Parameters) -> tuple[str, tuple[tuple[str, str], ...], str] | None:
    """What is wrong, the argument that checks end with, such as ``k=10``, and what they say behind it."""
    if not (found := re.fullmatch(TOLD, text)):
        return None
    why, name, typed, otherwise = found.groups("")
    return (
        (why, ((name, typed),), otherwise)
        if name in parameters and "..." not in typed and is_expression(typed)
        else None
    )


def begun(text: str, call: Refused) -> tuple[str, tuple[tuple[str, str], ...], str] | None:
    """What is wrong, and the argument that checks begin with; or the first column that is not named by text."""
    found, parameters, values = re.fullmatch(BEGUN, text), call.parameters, call.values
    if found and found[3] and (";" in found[3] or not re.match(rf": [.\w]*\b{call.name}\(", found[3])):
        found = None  # it says more than how such a call looks
    if found:
        name = "x" if found[2] == "columns" and "x" in parameters else found[2]
        needed = call.example(name) if name in parameters else {}
        if name == "bounds" and "must lie between" in text:  # which were typed, and are none
            needed = {name: "(lower, upper)"}
        return (found[1], tuple(needed.items()), "") if "..." not in needed.values() and needed else None
    if text.startswith("give the column name"):
        wrong = next((name for name in BY_NAME if name in values and not isinstance(values[name], str)), None)
        why, _, more = text.partition(", such as ")
        needed = call.example(wrong) if wrong else {}
        given = values[wrong] if wrong else None
        if wrong and type(given) is list and given and isinstance(given[0], str):
            needed = {wrong: repr(given[0])}
        if wrong and needed and type(given) is tuple and "bounds" in parameters and values.get("bounds") is None:
            needed = {wrong: ""} if getattr(call.asked, "_column", None) else needed
            needed |= {"bounds": f"={wrong}"}
        return (why, tuple(needed.items()), f"; {more.partition('), ')[2]}") if needed else None
    return None


def word(given: Any, typed: str, words: list[str]) -> str:
    """How an argument is typed that is one of these words: as the one that was meant, where one is near."""
    if not isinstance(given, str) or typed[1:-1] not in words:
        return typed
    meant = next((word for word in words if given.startswith(word)), WORDS.get(given, ""))
    meant = meant if meant in words else closest(given, words)
    return repr(meant) if meant else typed
