"""Notebooks run from a clean start, in order, with their outputs stripped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.notebooks import execute, faults

import pandas_dp

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cells"]


def test_they_are_numbered():
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{number:02}_" for number in range(1, 17)]
    assert NOTEBOOKS[0].name == "01_first_answers.ipynb"


@pytest.mark.slow
@EACH
def test_a_notebook_runs(path, tmp_path):
    executed, left_behind = execute(path, tmp_path)
    assert faults(executed) == []
    assert left_behind == []
    raised = {output["ename"] for cell in executed for output in cell.get("outputs", []) if "ename" in output}
    assert raised <= set(dir(pandas_dp))  # refusals of the package, which are shown on purpose


@EACH
def test_it_is_short_and_plain(path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    found = notebook["cells"]
    assert 10 <= len(found) <= 25
    assert len({cell["id"] for cell in found}) == len(found)
    assert found[0]["cell_type"] == "markdown"
    assert "**NON-PRIVATE**" in "".join(found[0]["source"])


@EACH
def test_outputs_are_stripped_and_true_answers_marked(path):
    marks = 0
    for cell in cells(path):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            source = "".join(cell["source"])
            assert ("# NON-PRIVATE" in source) == source.startswith("# NON-PRIVATE\n")
            marked = source.startswith("# NON-PRIVATE\n")
            assert marked == ("non-private" in cell["metadata"].get("tags", []))
            marks += marked
    assert marks >= 1  # every notebook compares with the truth


def test_what_a_reader_should_not_see_is_found():
    error, warning = (
        {"output_type": "error", "ename": "ValueError"},
        {"output_type": "stream", "name": "stderr", "text": "!"},
    )
    plain, tagged = {}, {"tags": ["raises-exception"]}
    text = {"cell_type": "markdown", "metadata": {}, "source": ["words"]}
    good = [{"metadata": plain, "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}]}, text]
    good += [{"metadata": tagged, "outputs": [error]}]
    assert faults(good) == []
    for metadata, outputs in ((plain, [error]), (tagged, []), (plain, [warning]), (tagged, [error, warning])):
        assert len(faults([*good, {"metadata": metadata, "outputs": outputs}])) == 1
