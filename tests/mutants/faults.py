"""Reads the written list of planted faults: what is broken, how, and which tests must notice."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    """One line of the package replaced by a wrong one.

    Attributes
    ----------
    name : str
    what : str
        What goes wrong.
    file : str
        Below ``pandas_dp/``.
    old, new : str
        The one place in the file, and what stands there instead.
    tests : list of str
        Files, tests or cases below ``tests/``: those that notice, no more, as all of them also run without the fault.
    also : pair of str, optional
        A second place and what stands there instead.
    slow : bool
        Whether tests marked slow are the only ones that notice.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: list[str]
    also: tuple[str, str] | None = None
    slow: bool = False


def planted(text: str, fault: Fault) -> str:
    """Return the text of its file with the fault in it.

    Raises
    ------
    ValueError
        A place is not there, or there more than once.
    """
    for old, new in filter(None, [(fault.old, fault.new), fault.also]):
        if text.count(old) != 1:
            raise ValueError(f"{fault.name}: {text.count(old)} places in {fault.file}")
        text = text.replace(old, new)
    return text


FAULTS = [
    Fault(name, **fields)
    for file in sorted(Path(__file__).parent.glob("*.toml"))
    for name, fields in tomllib.loads(file.read_text()).items()
]
