"""The notebooks as pages: run when the site is built, with what their cells show.

A notebook that was run is kept in ``docs/notebooks`` until it, or the package, changes. With ``sphinx-build -t plain`` none is
run, and pages show the cells alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown page that it would be."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse the cells, one after another."""
        cells = json.loads(inputstring)["cells"]
        name = Path(document["source"]).name
        closing = f"[Download this notebook](path:../../notebooks/{name}) and change what you like."
        super().parse("\n\n".join([*map(cell_text, cells), closing]), document)


def cell_text(cell: dict[str, Any]) -> str:
    """One cell in Markdown, what it showed below it."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        for name, kinds in cell.get("attachments", {}).items():
            for kind, content in kinds.items():
                source = source.replace(f"attachment:{name}", f"data:{kind};base64,{content}")
        return source
    return "\n\n".join([fenced("python", source), *map(output_text, cell.get("outputs", []))])


def output_text(output: dict[str, Any]) -> str:
    """What a cell showed: as HTML or a picture where there is one, otherwise as text."""
    data = output.get("data", {})
    if "text/html" in data:
        return fenced("{raw} html", f'<div class="shown">{"".join(data["text/html"])}</div>')
    if "image/png" in data:
        picture = "".join(data["image/png"].split())
        text = escape("".join(data.get("text/plain", "")), quote=True)
        return fenced(
            "{raw} html", f'<div class="shown"><img alt="{text}" src="data:image/png;base64,{picture}"></div>'
        )
    if "traceback" in output:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output["traceback"]))
        return fenced("{code-block} text\n:class: shown refusal", plain)
    return fenced("{code-block} text\n:class: shown", "".join(output.get("text") or data["text/plain"]))


def fenced(head: str, text: str) -> str:
    """A block that ends where it should, whatever is in it."""
    return f"``````{head}\n{text.rstrip()}\n``````"


def bring(run: bool) -> None:
    """Put every notebook where Sphinx looks for pages, run if asked for."""
    sources = [path.stat().st_mtime for path in (ROOT / "pandas_dp").rglob("*.py")]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        kept = HERE / "notebooks" / path.name
        if kept.exists() and kept.stat().st_mtime > max(*sources, path.stat().st_mtime):
            continue
        if not run:
            shutil.copyfile(path, kept)
            os.utime(kept, (0, 0))  # older than everything: the next build may run it
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(ROOT / "tests" / "support" / "notebooks.py"), str(path), str(kept)]
            subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})  # noqa: S603


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx read notebooks."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    (HERE / "notebooks").mkdir(exist_ok=True)
    bring(run=not app.tags.has("plain"))
    return {"parallel_read_safe": True}
