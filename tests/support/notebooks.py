"""Notebooks as a reader runs them: cell after cell in a new kernel. ``python notebooks.py WHERE EXECUTED`` is one such run.

It is a process of its own, since what a kernel's client warns of while it ends is nothing that the package does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SECONDS = 120  # for one notebook; the slowest takes about twenty of a quiet machine


def execute(path: Path, folder: Path) -> tuple[list[dict], list[Path]]:
    """Run a notebook with nothing of the user's settings; return its cells with their outputs, and files it left behind."""
    executed, desk, settings = folder / "executed.ipynb", folder / "desk", folder / "settings"
    desk.mkdir()
    settings.mkdir()
    root = str(Path(__file__).parent.parent.parent)
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
    environment = {**os.environ, "PYTHONPATH": root}
    environment |= dict.fromkeys(places, str(settings))
    command = [sys.executable, __file__, str(path), str(executed)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=desk, timeout=2 * SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(executed.read_text())["cells"], list(desk.iterdir())


def faults(cells: list[dict]) -> list[str]:
    """What a reader should not see: warnings, and cells that raise where none was announced or the other way round."""
    found = []
    for number, cell in enumerate(cells):
        outputs = cell.get("outputs", [])
        raised = [output["ename"] for output in outputs if output["output_type"] == "error"]
        announced = "raises-exception" in cell["metadata"].get("tags", [])
        if bool(raised) != announced:
            found.append(f"cell {number}: raised {raised or 'nothing'}, tagged: {announced}")
        found += [f"cell {number}: {output['text']}" for output in outputs if output.get("name") == "stderr"]
    return found


def main(path: str, executed: str) -> None:
    """Run the notebook in a new kernel, whose sockets are files: no port can be another program's."""
    import tempfile

    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    with tempfile.TemporaryDirectory() as sockets:  # a short path: names of sockets end at a hundred characters
        os.environ["JUPYTER_RUNTIME_DIR"] = sockets
        files = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
        manager = AsyncKernelManager(kernel_name="python3", **files)
        NotebookClient(notebook, km=manager, timeout=SECONDS).execute()
    nbformat.write(notebook, executed)


if __name__ == "__main__":
    main(*sys.argv[1:])
