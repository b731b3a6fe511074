"""Runs the blocks of a page of the documentation in the working directory, as a reader would: ``python page_runs.py PAGE``.

The blocks of a page share one scope. A statement whose last line ends in a comment such as ``# BudgetExceededError: ...`` has
to raise that error. TOML whose first line is ``# name.toml`` becomes that file, and lines ``$ pandas-dp ...`` are run.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from pathlib import Path
from typing import Any


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run_python(code: str, scope: dict[str, Any]) -> None:
    """Statement after statement; what stands alone is shown, as a notebook would show it."""
    lines = code.splitlines()
    for node in ast.parse(code).body:
        wanted = re.search(r"#\s*(\w+Error)\b", lines[node.end_lineno - 1])
        try:
            if isinstance(node, ast.Expr):
                repr(eval(ast.unparse(node), scope))
            else:
                exec(ast.unparse(node), scope)
        except Exception as error:
            if wanted is None or type(error).__name__ != wanted[1]:
                raise
        else:
            assert wanted is None, f"not raised: {lines[node.end_lineno - 1]}"


def run_commands(text: str) -> None:
    """Lines for a shell that call the package; others, such as those of pip, are for readers."""
    from pandas_dp.__main__ import main

    for line in re.findall(r"^\$ pandas-dp (.*)$", text, re.MULTILINE):
        code: object = None
        try:
            main(shlex.split(line))
        except SystemExit as ended:
            code = ended.code
        assert not code, f"{line}: exit code {code}"


def run(page: Path) -> None:
    """Every block, in order."""
    scope: dict[str, Any] = {}
    for language, content in blocks(page.read_text(encoding="utf-8")):
        name = re.match(r"# (\w+\.toml)\n", content)
        if language == "python":
            run_python(content, scope)
        elif language == "toml" and name is not None:
            Path(name[1]).write_text(content, encoding="utf-8")
        elif language == "console":
            run_commands(content)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
