"""News for the changelog: every file in ``changes/`` has a known kind and something to say."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
KINDS = {kind["directory"] for kind in SETTINGS["type"]}


def faults(folder: Path) -> list[str]:
    """What is wrong with the files of a folder."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name not in SETTINGS["ignore"]:
            words, kind, ending = path.name.rsplit(".", 2) if path.name.count(".") >= 2 else (path.name, "", "")
            found += [f"{path.name}: not +WORDS.KIND.md"] * (not words.startswith("+") or ending != "md")
            found += [f"{path.name}: not a kind, see changes/README.md"] * (kind not in KINDS)
            found += [f"{path.name}: empty"] * (not path.read_text().strip())
    return found


def test_news_have_known_kinds():
    assert faults(ROOT / "changes") == []


def test_bad_news_are_found(tmp_path):
    for name, text in (
        ("+a.added.md", "A call."),
        ("+b.news.md", "B."),
        ("c.fixed.md", "C."),
        ("+d", "D."),
        ("+e.fixed.md", ""),
    ):
        (tmp_path / name).write_text(text)
    assert [fault.split(":")[0] for fault in faults(tmp_path)] == [
        "+b.news.md",
        "+d",
        "+d",
        "+e.fixed.md",
        "c.fixed.md",
    ]


def test_kinds_are_those_of_the_readme():
    readme = (ROOT / "changes" / "README.md").read_text()
    assert all(f"| `{kind}` |" in readme for kind in KINDS)
    assert readme.count("\n| `") == len(KINDS)


def test_a_version_takes_the_news_into_the_changelog(tmp_path):
    pytest.importorskip("towncrier")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "+cells.added.md").write_text("`cells()` counts cells.\n")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.8", "--date", "2030-01-02"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wanted = "\n## 9.8 (2030-01-02)\n\n### Added\n\n- `cells()` counts cells.\n"
    made, before = ((folder / "CHANGELOG.md").read_text() for folder in (tmp_path, ROOT))
    top, rest = before.split(SETTINGS["start_string"])
    assert made.startswith(top + SETTINGS["start_string"] + wanted)
    assert made.endswith(rest.lstrip())
    assert list((tmp_path / "changes").iterdir()) == []
