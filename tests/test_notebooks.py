"""Notebooks run from a clean start, in order, with their outputs stripped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cells"]


def test_there_is_a_first_notebook():
    assert [path.name for path in NOTEBOOKS][:1] == ["01_first_answers.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    """Each cell's last expression is shown by repr and HTML, as a notebook would show it."""
    show = (
        "import ast\ndef run(source, scope):\n"
        "    tree = ast.parse(source.rstrip().rstrip(';'))\n"
        "    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None\n"
        "    exec(compile(tree, 'cell', 'exec'), scope)\n"
        "    if last is not None:\n"
        "        value = eval(compile(ast.Expression(last.value), 'cell', 'eval'), scope)\n"
        "        repr(value); getattr(value, '_repr_html_', lambda: None)()\n"
        "scope = {}\n"
    )
    sources = ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code"]
    code = show + "".join(f"run({source!r}, scope)\n" for source in sources)
    root = str(path.parent.parent)
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped_and_true_answers_marked(path):
    for cell in cells(path):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            marked = "# NON-PRIVATE" in "".join(cell["source"])
            assert marked == ("non-private" in cell["metadata"].get("tags", []))
