"""What stands in a text of conditions without the quotes that it needs: dates, durations, and values of several words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

WORDS = {"true": True, "false": False}
UNQUOTED = re.compile(
    r"""(?P<kept>'[^']*'|"[^"]*"|`[^`]*`)
    |(?<![\w.])(?P<year>\d{4})[-/](?P<month>\d{1,2})(?:[-/](?P<day>\d{1,2}))?(?P<time>[ T]\d\d:\d\d(?::\d\d)?)?(?![\w.])
    |(?<![\w.])(?P<span>\d+\ (?:day|hour|minute|second|week)s?)\b
    |(?P<before>[=!]=\ *)(?P<words>[^\W\d]\w*(?:[ ](?!and\b|or\b|in\b|not\b)[^\W\d]\w*)+)""",
    re.VERBOSE,
)


def in_quotes(text: str) -> str:
    """A text with quotes where they are likely missing.

    Examples
    --------
    >>> in_quotes("day > 2023/6/1 and stay < 2 days and ward == Surgery East")
    "day > '2023-06-01' and stay < '2 days' and ward == 'Surgery East'"
    """
    quote = '"' if '"' in text else "'"

    def mended(found: re.Match[str]) -> str:
        if found["kept"]:
            return found[0]
        if found["year"]:
            parts = [found["year"], *(part.zfill(2) for part in (found["month"], found["day"]) if part)]
            return f"{quote}{'-'.join(parts)}{found['time'] or ''}{quote}"
        return f"{found['before'] or ''}{quote}{found['span'] or found['words']}{quote}"

    return UNQUOTED.sub(mended, text)


def with_values(node: ast.expr, names: Iterable[str]) -> ast.expr:
    """What some names are compared with, with texts in their place, or with the words of Python for true and false."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return type(node)([with_values(entry, names) for entry in node.elts])
    known = isinstance(node, ast.Name) and node.id in names
    return ast.Constant(WORDS.get(node.id.lower(), node.id)) if known else node  # type: ignore[attr-defined]
