"""Lines to type: what errors of the package tell in code, as options of a command and as lines of a plan file."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

# a price, the terms of a budget, a larger total, and an argument as it ends a message
PRICED = re.compile(r"(?:\bdf\.dp|\bpandas_dp\.query)\(([^()]*)\)(\.)?")
OPENED = re.compile(r"(?<![\w.])(?:df\.dp\.)?protect\(([^()]*)\)")
EXTENDED = re.compile(r"(?:continue and then type )?df\.dp\.session\.extend\(([^()]*)\)")
PERIOD = re.compile(r"df\.dp\.period\(([^()]*)\)")
GIVEN = re.compile(r"(?<![-\w])(?<!--spent-since )(\w+) ?= ?('[^']*'|\"[^\"]*\"|[\w.+-]+)$")
QUOTES = "'\""
Written = Callable[[str, str], str]
OPTIONS = tomllib.loads(files("pandas_dp.commands").joinpath("options.toml").read_text("utf-8"))


def add_options(command: Any, table: str, more: Mapping[str, Any] | None = None) -> None:
    """Add the options of a table of ``options.toml``, some with more that code knows, to a command."""
    for name, said in OPTIONS.get(table, {}).items():
        known = OPTIONS["shared"].get(name, {}) | said | (more or {}).get(name, {})
        if known.get("type") == "int":
            known["type"] = int
        command.add_argument(name, **known)


def arguments(typed: str) -> list[tuple[str, str]]:
    """Names and values of named arguments; empty where others are among them, or what code alone has."""
    pairs = [pair.partition("=") for pair in typed.removeprefix("..., ").split(", ")]
    plain = all(name.isidentifier() and value and name != "fresh" for name, _, value in pairs)
    return [(name, value) for name, _, value in pairs] if plain else []


def option(name: str, value: str) -> str:
    """An argument as an option."""
    return f"--{name.replace('_', '-')} {quoted(value.strip(QUOTES))}"


def line(typed: Iterable[str]) -> str:
    """A command line.

    Examples
    --------
    >>> print(line(["pandas-dp", "query", "visits.parquet", "mode('sex')"]))
    pandas-dp query visits.parquet "mode('sex')"
    """
    return " ".join(map(quoted, typed))


def quoted(word: str) -> str:
    """A word as a shell takes it, and as people read it: a question in double quotes."""
    return f'"{word}"' if ("'" in word and not re.search(r'["$`\\!]', word)) else shlex.quote(word)


def periods(text: str) -> str:
    """A text with the option that names periods.

    Examples
    --------
    >>> periods("period: 'yesterday' names no day: df.dp.period('2026-11-28')")
    "period: 'yesterday' names no day: --period 2026-11-28"
    """
    return PERIOD.sub(lambda found: f"--period {' '.join(part.strip(QUOTES) for part in found[1].split(', '))}", text)


def entry(name: str, value: str) -> str:
    """An argument as an entry of a plan file."""
    if value[0] in QUOTES:
        return f"{name} = {json.dumps(value[1:-1], ensure_ascii=False)}"
    return f"{name} = {value.lower() if value in ('True', 'False') else value}"


def raised(text: str, ledger: str, name: str, new: Written | None = None) -> str:
    """A text with the command that raises the total of a budget, or, where the ledger has none yet, what opens a larger one."""
    if new is not None:
        total = {"to": "epsilon", "to_delta": "delta"}
        return EXTENDED.sub(
            lambda found: " ".join(new(total[term], value) for term, value in arguments(found[1]) if term in total),
            text,
        )
    line = f"pandas-dp ledger extend {shlex.quote(ledger)} --name {shlex.quote(name)}"
    return EXTENDED.sub(lambda found: " ".join([line, *(option(*pair) for pair in arguments(found[1]))]), text)
