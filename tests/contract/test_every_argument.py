"""Every argument of everything that can be called, replaced by odd values: a refusal in the package's own words, or an answer.

Calls and arguments are found by looking at the package (`support.calls`), so that a new one is swept, or is told to be missing
here. An odd value takes the place of each argument, those left out as well, and of one entry of each list and dict.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import calls
from support.calls import EXEMPT, HELPERS, Made
from support.odd import FEW, fault, variants
from support.questions import table

from pandas_dp import PandasDPError
from pandas_dp.engines.pandas import PandasView

RECORDED: dict[str, list[Made]] = {}
for _name, _made in calls.recorded():
    RECORDED.setdefault(_name, []).append(_made)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What right calls read."""
    path = tmp_path_factory.mktemp("files")
    pq.write_table(pa.table({"cost": [1, 2]}), path / "table.parquet")
    (path / "schema.toml").write_text("[cost]\nbounds = [0, 100]\n")
    table().dp.protect(epsilon=1, ledger=path / "books.dpledger").close()
    return path


@pytest.fixture(autouse=True)
def folder(files, monkeypatch):
    """What an odd name writes ends with these."""
    monkeypatch.chdir(files)
    # what a user's function makes of its blocks is not asked for here
    monkeypatch.setattr(
        PandasView, "block_results", lambda self, function, block, blocks, columns=None: [None] * blocks
    )


def faults(made: Made) -> Iterator[str]:
    """What else than a refusal or an answer comes of odd arguments."""
    for argument, odd, args, options in variants(made.function, made.args, made.options, made.odd):
        wrong = fault(lambda args=args, options=options: made.then(made.function(*args, **options)))
        if wrong is not None:
            yield f"{argument} = {odd}: {wrong}"


def right(made: Made) -> None:
    """A call to begin from has to be right itself."""
    made.then(made.function(*made.args, **made.options))


def test_every_question_is_asked_somewhere():
    missing = calls.questions() - RECORDED.keys()
    assert not missing, f"no question of tests/support/questions.py asks {', '.join(sorted(missing))}: add one"


def test_every_other_call_has_a_right_one():
    found = calls.helpers()
    missing = found - HELPERS.keys() - EXEMPT.keys()
    assert not missing, f"no right call of {', '.join(sorted(missing))}: add it to tests/support/calls.py"
    assert not (HELPERS.keys() | EXEMPT.keys()) - found, "a call that there is no more"


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_questions(name):
    first, *others = RECORDED[name]
    assert not list(faults(first))
    for made in others:  # the same question with other arguments beside each
        assert not list(faults(made._replace(odd=FEW)))


@pytest.mark.one_in(36)
@pytest.mark.parametrize("name", sorted(HELPERS))
def test_helpers(name):
    for make in HELPERS[name]:
        right(make())
        assert not list(faults(make()))


def swapped(made: Made) -> Iterator[tuple[str, Made]]:
    """A right call with each of its numbers as text and as a truth value, also the first one of a list."""
    for place, given in [*enumerate(made.args), *made.options.items()]:
        listed = type(given) in (list, tuple) and bool(given)
        first = given[0] if listed else given
        for odd in (True, np.True_, str(first), np.str_(first)) if type(first) in (int, float) else ():
            value = type(given)([odd, *given[1:]]) if listed else odd
            args = tuple(value if place == i else arg for i, arg in enumerate(made.args))
            options = {name: value if place == name else option for name, option in made.options.items()}
            yield f"{place} = {odd!r}", made._replace(args=args, options=options)


IN_QUOTES = {  # epsilons of calls and budgets: a decimal of Python's own text is one exact number
    *(f"Accessor.{call}: epsilon" for call in ("__call__", "protect", "allot", "partition")),
    *("Accessor.preview: 0", "query: 0", "plan: epsilon"),
}


def test_b7_b8_no_number_is_text_or_a_truth_value():
    """Both count as numbers to Python or to NumPy, so that a slip would be a bound."""
    made = [*calls.recorded(), *((name, make()) for name, each in HELPERS.items() for make in each)]
    met, taken = 0, []
    for name, call in made:
        for what, odd in swapped(call):
            met += 1
            try:
                right(odd)
            except PandasDPError:
                continue
            if not (
                name == "PricedFrame.select" and what.startswith("0 = ")
            ):  # candidates, which may be any public values
                taken.append(f"{name}: {what}")
    assert met > 500
    assert {place.partition(" = '")[0] for place in taken} == IN_QUOTES
