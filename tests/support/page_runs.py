"""Runs the blocks of a page of the documentation in the working directory, as a reader would: ``python page_runs.py PAGE``.

The blocks of a page share one scope. A statement whose last line ends in a comment such as ``# BudgetExceededError: ...`` has
to raise that error. TOML whose first line is ``# name.toml`` becomes that file, and lines ``$ pandas-dp ...`` are run.

A block of text right below shows what comes out: what stands alone as a notebook would show it, and errors. The noise is new
each time, so its form is compared, every number standing for any other, and ``...`` for whatever is left out. With ``--write``
blocks of text that are missing, or of another form by now, are written into the page.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"NaN|-?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")


def form(text: str) -> str:
    """A text with any number in place of each, and one space in place of many."""
    return " ".join(NUMBER.sub("#", text).split())


def same_form(shown: str, found: str) -> bool:
    """Whether what a page shows is of the form of what was found."""
    pieces = (re.escape(form(piece)) for piece in re.split(r"(?<!\.)\.\.\.(?!\.)", shown))
    return re.fullmatch(r"\s*.*\s*".join(pieces), form(found), re.DOTALL) is not None


def run_python(code: str, scope: dict[str, Any]) -> str:
    """Statement after statement; return what stands alone, as a notebook would show it, and errors that were told."""
    lines, shown = code.splitlines(), io.StringIO()
    for node in ast.parse(code).body:
        wanted = re.search(r"#\s*(\w+Error)\b", lines[node.end_lineno - 1])
        try:
            with contextlib.redirect_stdout(shown):
                if isinstance(node, ast.Expr):
                    told = eval(ast.unparse(node), scope)
                    if told is not None and "matplotlib" not in type(told).__module__:
                        print(repr(told))
                else:
                    exec(ast.unparse(node), scope)
        except Exception as error:
            if wanted is None or type(error).__name__ != wanted[1]:
                raise
            print(f"{type(error).__name__}: {error}", file=shown)
        else:
            assert wanted is None, f"not raised: {lines[node.end_lineno - 1]}"
    return shown.getvalue()


def run_commands(text: str) -> str:
    """Lines for a shell that call the package; others, such as those of pip, are for readers."""
    from pandas_dp.__main__ import main

    shown = io.StringIO()
    for line in re.findall(r"^\$ pandas-dp (.*)$", text, re.MULTILINE):
        code: object = None
        try:
            with contextlib.redirect_stdout(shown):
                main(shlex.split(line))
        except SystemExit as ended:
            code = ended.code
        assert not code, f"{line}: exit code {code}"
    return shown.getvalue()


def run(page: Path, write: bool = False) -> None:
    """Every block, in order."""
    scope: dict[str, Any] = {}

    def block(match: re.Match[str]) -> str:
        language, content, told = match.groups()
        name, found = re.match(r"# (\w+\.toml)\n", content), ""
        if language == "python":
            found = run_python(content, scope)
        elif language == "toml" and name is not None:
            Path(name[1]).write_text(content, encoding="utf-8")
        elif language == "console":
            found = run_commands(content)
        if page.name == "README.md" or same_form(told or "", found):  # which tells it in comments
            return match[0]
        assert write, f"{page.name} shows\n{told}\nwhere this comes out, or its form:\n{found}"
        lines = "\n".join(line.rstrip() for line in found.rstrip().split("\n"))
        return f"```{language}\n{content}```\n\n```text\n{lines}\n```\n"

    text = page.read_text(encoding="utf-8")
    renewed = BLOCK.sub(block, text)
    if renewed != text:
        page.write_text(renewed, encoding="utf-8")


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), write="--write" in sys.argv)
