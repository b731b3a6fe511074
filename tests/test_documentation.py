"""What the documentation shows runs: every block of every page, every example of a docstring; every link leads somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import math
import os
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from support import interpreter, page_runs

import pandas_dp
from pandas_dp.accessor.accessor import Accessor
from pandas_dp.accessor.scan import ScannedAccessor
from pandas_dp.aggregates import tidy
from pandas_dp.aggregates.uncertainty import Interval
from pandas_dp.audit.search import AuditResult
from pandas_dp.books.odometer import more_calls
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.questions.frame import PricedColumn, PricedFrame
from pandas_dp.questions.groups import FoundGroups, PricedGroups
from pandas_dp.release.base import Release
from pandas_dp.release.preview import Preview
from pandas_dp.release.values import FrameRelease, ObjectRelease, SeriesRelease
from pandas_dp.session.streams import OracleStream, ThresholdStream
from pandas_dp.steps.steps import RowSteps

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
NOTEBOOKS = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}  # pages of them are made with the site
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
MODULES = [m.name for m in pkgutil.walk_packages(pandas_dp.__path__, "pandas_dp.") if not m.name.endswith("__main__")]


class Finder(doctest.DocTestFinder):
    """Finds the examples of wrapped functions, too."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if inspect.isroutine(object) else object)


LONG = {"pandas_dp.audit.checking"}


@pytest.mark.parametrize("module", [pytest.param(m, marks=[pytest.mark.slow] if m in LONG else []) for m in MODULES])
def test_examples_of_docstrings(module):
    loaded, runner = importlib.import_module(module), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for examples in Finder(exclude_empty=True).find(loaded, globs=dict(vars(loaded))):
        runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples():
    found = [t for m in MODULES for t in Finder(exclude_empty=True).find(importlib.import_module(m))]
    assert sum(len(t.examples) for t in found) >= 150
    assert "pandas_dp.accounting.composition.compose" in {t.name for t in found}


def test_the_readme_runs(tmp_path):
    """In an interpreter of its own, warnings being errors from the first import on."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "support" / "page_runs.py"), str(ROOT / "README.md")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


SLOW = {"audit", "groups", "lectures", "median-mechanism"}
PAGE_RUN = """
import os, pathlib, warnings
from support import page_runs
os.environ["MPLBACKEND"] = "Agg"
os.chdir({0!r})
warnings.simplefilter("error")
page_runs.run(pathlib.Path({1!r}))
"""
RUN = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else [])
    for page in PAGES
    if "```python" in page.read_text()
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("page", RUN)
def test_a_page_runs(page, tmp_path):
    """In a fork of an interpreter that has imported the package."""
    done = interpreter.run(PAGE_RUN.format(str(tmp_path), str(page)))
    assert done.returncode == 0, done.stderr


def test_a_page_that_is_wrong_fails():
    scope: dict[str, object] = {}
    with pytest.raises(ZeroDivisionError):
        page_runs.run_python("1 / 0\n", scope)
    with pytest.raises(ZeroDivisionError):
        page_runs.run_python("1 / 0  # KeyError: another one\n", scope)
    with pytest.raises(AssertionError):
        page_runs.run_python("1  # KeyError: never raised\n", scope)
    assert page_runs.run_python("{}[1]  # KeyError: as it says\n", scope) == "KeyError: 1\n"


def test_what_a_page_shows_is_compared_but_for_its_numbers(tmp_path):
    page = tmp_path / "page.md"
    for shown, true in (("[7.5, 7]", True), ("[...]", True), ("(8, 8)", False), ("", False)):
        page.write_text(
            f"```python\nx = 1\n[x, -2e-9]\n```\n\n```text\n{shown}\n```\n" if shown else "```python\n1\n```\n"
        )
        with contextlib.nullcontext() if true else pytest.raises(AssertionError):
            page_runs.run(page)
    page_runs.run(page, write=True)
    assert page.read_text() == "```python\n1\n```\n\n```text\n1\n```\n"
    page_runs.run(page)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.stem)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)  # code indexes and calls
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        found = (page.parent / target).resolve()
        made = found.parent.name == "_generated" or (found.parent == DOCS / "notebooks" and found.stem in NOTEBOOKS)
        assert found.exists() or made, target
        assert found.suffix != ".md" or found in PAGES or found.parent == ROOT, target


def test_every_page_is_in_a_table_of_contents_once():
    listed = [
        (page.parent / f"{name}.md").resolve()
        for page in PAGES
        for _, entries in re.findall(r"```\{toctree\}\n((?::.*\n)*)\n(.*?)```", page.read_text(), re.DOTALL)
        for name in re.findall(r"([^<>\s]+)>?$", entries, re.MULTILINE)
    ]
    pages = [page.resolve() for page in PAGES if page != DOCS / "index.md"]
    assert sorted(listed) == sorted(pages + [DOCS / "notebooks" / f"{name}.md" for name in NOTEBOOKS])


def test_each_notebook_has_its_question_on_the_page_of_notebooks():
    page = (DOCS / "notebooks" / "index.md").read_text()
    told = re.findall(r"^\[[^\]]+\]\((\w+)\.ipynb\)\n: .*\?", page, re.MULTILINE)
    assert sorted(told) == sorted(NOTEBOOKS)


def test_the_section_on_looking_first_is_short_and_its_output_true():
    section = README.split("## Look before you pay\n")[1].split("\n## ")[0]
    assert len([line for line in section.splitlines() if line.strip()]) <= 8
    ((call, shown),) = re.findall(r"```python\n(.*?)  # (.*?)\n```", section)
    df = pandas_dp.datasets.load_adult()
    session = df.dp.protect(epsilon=3, name="looking first")
    assert eval(call, {"df": df}) == shown
    assert session.spent == "epsilon=0"


def test_numbers_of_the_pages_are_true():
    choosing, keys, filters = (
        (DOCS / name).read_text() for name in ("howto/epsilon.md", "howto/unknown-keys.md", "mechanisms/accountants.md")
    )
    rule = filter_for(Budget.of(3, Fraction(1, 10**6)))
    calls = {price: more_calls(rule, State.zero(), PrivacyLoss.pure(Fraction(price))) for price in ("0.01", "0.3")}
    assert calls == {"0.01": 3676, "0.3": 10}
    assert "admits 3,676 calls at 0.01 instead of 300. At 0.3 it gains nothing." in " ".join(choosing.split())
    assert [math.ceil(10**digits * math.e**total) for total, digits in ((1, 2), (3, 1))] == [272, 201]
    assert "a factor of at most 2.72. With a total of 3, the factor is at most 20.1." in choosing.replace("\n", " ")
    assert pandas_dp.accounting.queries_for(0.1, (3, 1e-6)).loc["optimal", "queries"] == 46
    assert "`plan={0.1: 46}` pays for 46 calls" in filters
    least = next(t for t in range(1, 99) if math.exp(1 - t) / (1 + math.exp(-1)) <= 1e-6)
    assert least == 15
    assert "The threshold is 15 at epsilon 1 and delta 1e-6" in keys


def test_the_readme_is_two_screens():
    assert len(README.splitlines()) <= 90


def test_the_two_commands_of_the_readme():
    """The whole check runs them as they stand here."""
    assert re.findall(r"^\$ (pip install .*)$", README, re.MULTILINE) == [
        "pip install . && python -m pandas_dp demo",
        "pip install '.[test]' && pytest",
    ]


@pytest.mark.slow
def test_the_demo_marks_true_answers_and_shows_a_refusal():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pandas_dp", "demo"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[NON-PRIVATE, for comparison only]") == 5
    assert "BudgetExceededError" in done.stdout
    assert done.stdout.count("95 %") >= 5


PUBLIC = [name for name in pandas_dp.__all__ if name != "datasets"]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_docstrings(name):
    thing = getattr(pandas_dp, name)
    assert thing.__doc__
    if isinstance(thing, type):
        for member in (m for m in vars(thing) if not m.startswith("_")):
            assert getattr(thing, member).__doc__, f"{name}.{member}"


ROOTS = {"PricedFrame": PricedFrame, "df.dp": Accessor}
CLASSES = [
    PricedFrame,
    PricedGroups,
    FoundGroups,
    PricedColumn,
    Accessor,
    ScannedAccessor,
    ThresholdStream,
    OracleStream,
    Release,
    SeriesRelease,
    FrameRelease,
    ObjectRelease,
    Preview,
    Interval,
    AuditResult,
]


def public_functions() -> dict[str, Callable[..., object]]:
    """All functions and methods that users call, by name."""
    things: dict[str, object] = {kind.__name__: kind for kind in CLASSES}
    for name in pandas_dp.__all__:
        thing = getattr(pandas_dp, name)
        parts = thing.__all__ if inspect.ismodule(thing) else None
        things |= {name: thing} if parts is None else {f"{name}.{part}": getattr(thing, part) for part in parts}
    things |= {name: getattr(tidy, name) for name in ("nonnegative", "to_simplex", "round_to_total", "isotonic")}
    found = {}
    for name, thing in things.items():
        if not isinstance(thing, type):
            found[name] = thing
            continue
        for member in (m for m in dir(thing) if m == "__call__" or not m.startswith("_")):
            method = inspect.getattr_static(thing, member)
            method = getattr(method, "__func__", method)
            if inspect.isfunction(method) and method.__module__.startswith("pandas_dp"):
                found[f"{name}.{member}"] = method
    return found


def sections_of(text: str) -> dict[str, str]:
    """Sections of a docstring by their titles."""
    return dict(re.findall(r"^(\w+)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE))


def lacking(function: Callable[..., object]) -> list[str]:
    """Sections and parameters that a docstring lacks.

    One that says "see `PricedFrame.mean`" and neither what it takes nor what it returns has those of that method, but for its
    example, which is its own.
    """
    own, text = inspect.unwrap(function), inspect.getdoc(function) or ""
    sections = sections_of(text)
    other = re.search(r"[Ss]ee (?:`(PricedFrame)\.|``(df\.dp)\.)(\w+)", text)
    if other is not None and not {"Parameters", "Returns"} & sections.keys():
        there = sections_of(inspect.getdoc(getattr(ROOTS[other[1] or other[2]], other[3])) or "")
        sections = {title: body for title, body in there.items() if title != "Examples"} | sections
    heads = re.findall(r"^(\S.*?)(?: : .*)?$", sections.get("Parameters", ""), re.MULTILINE)
    listed = {name.strip(" *") for head in heads for name in head.split(",")}
    signature = inspect.signature(own)
    lacks = [f"parameter {name}" for name in signature.parameters if name not in {"self", "cls", *listed}]
    if signature.return_annotation not in ("None", None) and "Returns" not in sections:
        lacks.append("Returns")
    if re.search(r"^\s+raise ", inspect.getsource(own), re.MULTILINE) and "Raises" not in sections:
        lacks.append("Raises")
    if not any(line.startswith(">>> ") for line in sections.get("Examples", "").splitlines()):
        lacks.append("Examples")
    return lacks if text else ["all"]


# of groups that are found; they do nothing but say what to type instead
REFUSALS = {f"FoundGroups.{name}" for name in ("agg", "histogram", "mode", "sample_and_aggregate")}


def test_docstrings_have_the_sections_that_their_kind_needs():
    functions = {name: function for name, function in public_functions().items() if name not in REFUSALS}
    assert len(functions) > 190
    assert {name: lacks for name, function in functions.items() if (lacks := lacking(function))} == {}


def test_a_docstring_without_its_sections_is_found():
    def undocumented(rows: int, bounds: int) -> int:
        """Count.

        Parameters
        ----------
        rows : int
        """
        raise ValueError

    def counted() -> int:
        """Count; see `PricedFrame.count`.

        Notes
        -----
        As >>> there.
        """
        return 0

    assert lacking(undocumented) == ["parameter bounds", "Returns", "Raises", "Examples"]
    assert lacking(counted) == ["Examples"]


# a guide of one page, what says that it is the same, and what `audit.check` makes, whose example takes long enough
GUIDES = {Accessor, ScannedAccessor, AuditResult}


def public_classes() -> set[type]:
    """All classes whose objects users hold, but errors."""
    named = [getattr(pandas_dp, name) for name in pandas_dp.__all__]
    inner = [getattr(thing, name) for thing in named if inspect.ismodule(thing) for name in thing.__all__]
    kinds = {thing for thing in [*CLASSES, *named, *inner] if isinstance(thing, type)}
    return {kind for kind in kinds if not issubclass(kind, BaseException)} - GUIDES


def test_public_classes_have_an_example():
    kinds = public_classes()
    assert len(kinds) >= 15
    assert {kind.__name__ for kind in kinds if ">>> " not in (kind.__doc__ or "")} == set()


STEPS = {name for name in vars(RowSteps) if not name.startswith("_")}  # of which query says it for all


def untold(function: Callable[..., object]) -> list[str]:
    """What the docstring of a question does not say of its errors, guarantee and source.

    Those to which it points say it as well: a question of a column or of each group is that of the frame.
    """
    told, waiting, read = "", [inspect.getdoc(function) or ""], set[str]()
    while waiting:
        told += waiting.pop() + "\n\n"
        seen = set(re.findall(r"(?:[Ss]ee |of )`{1,2}(?:PricedFrame\.)?(\w+)`", told)) & set(dir(PricedFrame)) - read
        waiting += [inspect.getdoc(getattr(PricedFrame, name)) or "" for name in sorted(seen)]
        read |= seen
    lacks = [] if "Raises\n------" in told else ["Raises"]
    if not re.search(r"Source:[^:]*\b(19|20)\d\d\b", told):
        lacks.append("Source")
    if not (
        {"add_remove", "replace_one"} <= set(re.findall(r"\w+", told)) or re.search("(both|either) relation", told)
    ):
        lacks.append("relations")
    if not re.search(r"\b(price|epsilon|charged|cost)\b", told):
        lacks.append("price")
    return lacks


@pytest.mark.parametrize("kind", [PricedFrame, PricedGroups, PricedColumn], ids=lambda kind: kind.__name__)
def test_questions_say_what_they_raise_what_they_promise_and_whose_they_are(kind):
    questions = {name for name in dir(kind) if not name.startswith("_")} - STEPS
    assert {name: lacks for name in questions if (lacks := untold(getattr(kind, name)))} == {}


def test_a_question_that_does_not_say_it_is_found():
    def told() -> int:
        """Count; see `PricedFrame.count`."""
        return 0

    def untold_one() -> int:
        """Count under add_remove.

        Notes
        -----
        Source: folklore.
        """
        return 0

    assert untold(told) == []
    assert untold(untold_one) == ["Raises", "Source", "relations", "price"]


@pytest.mark.parametrize("held", ["df.dp", "df.dp(1)", "scan.dp", "df.dp.preview(1)"])
def test_help_is_read_to_the_end(held, tmp_path):
    """At most 80 lines, in which every question stands, with types that say something."""
    df = pd.DataFrame({"age": [1]})
    df.to_parquet(tmp_path / "x.parquet")
    session = df.dp.protect(epsilon=3, name="help")
    scan = pandas_dp.scan_parquet(tmp_path / "x.parquet")
    thing = eval(held, {"df": df, "scan": scan})
    text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
    session.close()
    assert len(text.splitlines()) <= 80
    assert all(len(line) <= 128 for line in text.splitlines())
    assert "Any" not in text
    own = {m for m in dir(Accessor) if not m.startswith("_")} if isinstance(thing, Accessor) else set()
    questions = {m for m in dir(PricedFrame) if not m.startswith("_")} | own
    assert {name for name in questions if not re.search(rf"\b{name}\b", text)} == set()


def test_help_names_arguments_that_there_are():
    """Of each question on the page of those."""
    page = PricedFrame.__new__(PricedFrame).__doc__ or ""
    calls = re.findall(r"^    (?!help)(?=\w+\()(.*?)(?: +->|  +)", page, re.MULTILINE)
    told = [found for call in calls for found in re.findall(r"(\w+)\(([^()]*)\)", call)]
    assert len(told) >= 30
    for name, arguments in told:
        known = inspect.signature(getattr(PricedFrame, name)).parameters
        named = [part.partition("=")[0].strip() for part in re.sub(r"[{\[].*[}\]]|\"[^,]*\"", "", arguments).split(",")]
        assert {part for part in named if part.isidentifier()} <= known.keys() | {"name"}, name


def test_help_of_the_accessor_is_a_guide_on_one_page():
    page = inspect.getdoc(Accessor) or ""
    assert len(page.splitlines()) <= 45
    questions = {m for m in dir(PricedFrame) if not m.startswith("_")}
    own = {m for m in dir(Accessor) if not m.startswith("_")} - {"pipe"}
    missing = {name for name in questions | own if not re.search(rf"\b{name}\b", page)}
    assert missing == set()


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    """Offline: nothing is fetched, and no page of what is built asks for anything from elsewhere."""
    for module in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "matplotlib"):
        pytest.importorskip(module)
    options = ["-W", "--keep-going", "-q", "-t", "plain", "-d", str(tmp_path / "trees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", str(tmp_path / "html")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "html").rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"(https?:[^\"]*)", page.read_text())
        assert not loaded, (page.name, loaded)
    notebook = (tmp_path / "html" / "notebooks" / "01_first_answers.html").read_text()
    assert "How many people are in a census table" in notebook
    assert re.search(r'href="\.\./_downloads/\w+/01_first_answers\.ipynb"', notebook)
    formula = (tmp_path / "html" / "mechanisms" / "discrete-laplace.html").read_text()
    assert "<mfrac>" in formula  # set by the browser
    assert "-dark.svg" in formula


def test_words_are_spelt_right():
    pytest.importorskip("codespell_lib")
    texts = [str(ROOT / name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + [
        str(page) for page in PAGES
    ]
    done = subprocess.run([sys.executable, "-m", "codespell_lib", *texts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
