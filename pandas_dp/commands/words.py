"""Lines to type: what errors of the package tell in code, as options of a command and as lines of a plan file."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

# a price, the terms of a budget, a larger total, and an argument as it ends a message
PRICED, OPENED = re.compile(r"df\.dp\(([^()]*)\)(\.)?"), re.compile(r"(?<![\w.])(?:df\.dp\.)?protect\(([^()]*)\)")
EXTENDED = re.compile(r"(?:continue and then type )?df\.dp\.session\.extend\(([^()]*)\)")
GIVEN = re.compile(r"(?<![-\w])(?<!--spent-since )(\w+) ?= ?('[^']*'|\"[^\"]*\"|[\w.+-]+)$")
QUOTES = "'\""
Written = Callable[[str, str], str]


def arguments(typed: str) -> list[tuple[str, str]]:
    """Names and values of named arguments; empty where others are among them, or what code alone has."""
    pairs = [pair.partition("=") for pair in typed.removeprefix("..., ").split(", ")]
    plain = all(name.isidentifier() and value and name != "fresh" for name, _, value in pairs)
    return [(name, value) for name, _, value in pairs] if plain else []


def option(name: str, value: str) -> str:
    """An argument as an option."""
    return f"--{name.replace('_', '-')} {shlex.quote(value.strip(QUOTES))}"


def entry(name: str, value: str) -> str:
    """An argument as an entry of a plan file."""
    if value[0] in QUOTES:
        return f"{name} = {json.dumps(value[1:-1], ensure_ascii=False)}"
    return f"{name} = {value.lower() if value in ('True', 'False') else value}"


def raised(text: str, ledger: str, name: str) -> str:
    """A text with the command that raises the total of a budget."""
    line = f"pandas-dp ledger extend {shlex.quote(ledger)} --name {shlex.quote(name)}"
    return EXTENDED.sub(lambda found: " ".join([line, *(option(*pair) for pair in arguments(found[1]))]), text)
