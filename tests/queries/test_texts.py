"""Questions as text: what a query shows is read again as the same query, and nothing is ever run."""

from __future__ import annotations

import ast
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frames import protected
from support.questions import EVERY, STREAMS, table

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.commands.dry_run import preview_of
from pandas_dp.queries import texts
from pandas_dp.queries.texts import read_query

HALF = {"epsilon": 0.5}
IN_CODE = {  # with a function or a table among their arguments
    "after steps", "mean of blocks", "means of blocks", "select by table", "vote", "median of blocks", "smooth blocks",
    "winsorized blocks", "median oracle", "function of groups by noisy size", "means of a function of groups",
    "medians of a function of groups", "own function", "own numbers",
}  # fmt: skip


def text_of(query):
    return "".join(map(str, query._calls))


@pytest.mark.parametrize("name", sorted(EVERY.keys() - IN_CODE))
def test_what_a_query_shows_is_read_as_the_same_query(name):
    query = EVERY[name](pandas_dp.query(epsilon=0.5))
    again = read_query(text_of(query), HALF)
    assert again == query
    assert repr(again) == repr(query)
    assert read_query(text_of(query).removeprefix("."), HALF) == query


@pytest.mark.parametrize("name", sorted(IN_CODE & EVERY.keys()))
def test_functions_and_tables_are_for_code(name):
    with pytest.raises(ArgumentValueError):
        read_query(text_of(EVERY[name](pandas_dp.query(epsilon=0.5))), HALF)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-3", -3),
        ("+2.5", 2.5),
        ("True", True),
        ("None", None),
        ("'a\\'b'", "a'b"),
        ("[1, (2, 'x'), {'k': [3]}]", [1, (2, "x"), {"k": [3]}]),
        ("range(0, 10, 2)", range(0, 10, 2)),
        ("range(10, 0, -1)", range(10, 0, -1)),
        ("Decimal('0.10')", Decimal("0.10")),
        ("Fraction(1, 3)", Fraction(1, 3)),
        ("pd.Timestamp('2013-01-31')", pd.Timestamp("2013-01-31")),
        ("pd.Timedelta('90min')", pd.Timedelta("90min")),
        ("datetime.date(2013, 1, 31)", dt.date(2013, 1, 31)),
    ],
)
def test_values(text, value):
    call = read_query(f"mean('a', bounds={text})", HALF)._calls[-1]
    assert call.options["bounds"] == value
    assert type(call.options["bounds"]) is type(value)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("pd.period_range('2013-01', periods=12, freq='M')", 12),
        ("pd.period_range('2013-01', '2013-12', freq='M')", 12),
        ("pd.date_range('2013-01-01', '2014-01-01', freq='MS')", 13),
        ("pd.timedelta_range('0h', '24h', freq='1h')", 25),
    ],
)
def test_ranges_of_dates(text, length):
    assert len(read_query(f"histogram('a', bins={text})", HALF)._calls[-1].options["bins"]) == length


@pytest.mark.parametrize(
    "text",
    [
        "mean(__import__('os').system('true'))",
        "mean('a', bounds=open('x'))",
        "mean('a', bounds=(lambda: 1)())",
        "mean('a', bounds=[x for x in (1, 2)])",
        "mean('a', bounds=pd.read_csv('x'))",
        "mean('a', bounds=2 ** 10000000)",
        "mean('a', bounds=f'{1}')",
        "mean(*['a'])",
        "mean(**{'column': 'a'})",
        "mean('a').__class__",
        "__class__()",
        "_put()",
        "_method('x')()",
        "count() or count()",
        "count()) + (q.count()",
        "count",
        "",
        "count(); count()",
        "[0].mean()",
        "mean('a', bounds={**{}})",
        "mean('a', bounds={[]: 1})",
        "mean('a', bounds=b'x')",
        "mean('a', bounds=1j)",
        "mean('a', bounds=...)",
        "mean('a', bounds=range(10**9))",
        "mean('a', bounds=range(0, 1000000000))",
        "mean('a', bounds=range(0, 99999999999999999999999999))",
        "histogram('a', bins=pd.date_range('1700-01-01', '2262-01-01', freq='s'))",
        "histogram('a', bins=pd.period_range('2013', periods=1000000000, freq='D'))",
        "mean('a', bounds=Decimal('1e999999999'))",
        "mean('a', bounds=Fraction('1e999999999'))",
        "mean('a', bounds=Fraction(1, 0))",
        "mean('a', bounds=pd.Timestamp('never'))",
        "mean('a', bounds=pd.Timestamp('NaT'))",
        "mean('a', bounds=" + "[" * 3000 + "]" * 3000 + ")",
        "mean('a', bounds=" + "-" * 3000 + "1)",
        "x" * 300_000,
        ".query('a > 1')" * 60 + ".count()",
        3,
        None,
    ],
    ids=lambda text: str(text)[:40],
)
def test_nothing_else_is_read_and_nothing_run(text):
    with pytest.raises((ArgumentTypeError, ArgumentValueError)):
        read_query(text, HALF)


def test_what_is_read_has_a_question():
    with pytest.raises(ArgumentTypeError, match="no question yet"):
        read_query("query('age > 30')", HALF)
    with pytest.raises(ArgumentValueError, match="did you mean 'mean'"):
        read_query("maen('age')", HALF)
    with pytest.raises(ArgumentTypeError, match="it takes column="):
        read_query("mean('age', wrong=3)", HALF)


WORDS = """count mean sum quantile histogram groupby agg query assign eval top_k mode keys= bounds= bins= q= 'cost' 'ward'
'age>30' ( ) [ ] { } , . : = - 0 1 0.5 1e999 100 None True 'A' ['A','B'] (0,100) range( pd.Timestamp( pd.Timedelta( Decimal(
Fraction( pd.date_range( pd.period_range( '2013-01-01' freq='D' periods=3 lambda ** * @ \\ ' " # \x00 é"""
PIECES = st.sampled_from([*WORDS.split(), " ", "\n"])
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["cost", "ward", "age"]),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip
CALLS = st.builds(
    lambda name, args, options: f"{name}({', '.join([*map(repr, args), *(f'{k}={v!r}' for k, v in options.items())])})",
    st.sampled_from(sorted(name for name in dir(pandas_dp.query(epsilon=1)) if not name.startswith("_"))),
    st.lists(LITERALS, max_size=3),
    st.dictionaries(
        st.sampled_from(["column", "bounds", "keys", "bins", "q", "k", "step", "method"]), LITERALS, max_size=3
    ),
)
GOOD = [text_of(EVERY[name](pandas_dp.query(epsilon=0.5))) for name in sorted(EVERY.keys() - IN_CODE)]


def with_another(text, place, value):
    """A question with one of its arguments, or a part of one, replaced."""
    tree = ast.parse(f"q{text}", mode="eval")
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict)]
    if not nodes:
        return text
    old, new = nodes[place % len(nodes)], ast.parse(repr(value), mode="eval").body

    class Replace(ast.NodeTransformer):
        def visit(self, node):
            return new if node is old else self.generic_visit(node)

    return ast.unparse(Replace().visit(tree)).removeprefix("q")


NEARLY = st.builds(with_another, st.sampled_from(GOOD), st.integers(0, 20), LITERALS)


@pytest.fixture(scope="module")
def frame():
    return protected(table(), epsilon=10**4, neighbors="replace_one", rows=True)


@pytest.mark.slow
@settings(max_examples=1000)
@given(text=st.text(max_size=60) | st.lists(PIECES, max_size=20).map("".join) | CALLS | NEARLY)
def test_any_text_is_read_or_refused(frame, text):
    try:
        query = read_query(text, HALF)
        preview_of("", query, frame, None)
    except PandasDPError:
        return
    assert read_query(text_of(query), HALF) == query or "... " in text_of(query)


def test_the_reader_has_no_way_to_run_a_text():
    """The module calls nothing that could: its source has neither eval nor exec nor compile, getattr nor import."""
    tree = ast.parse(Path(texts.__file__).read_text())
    names = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not names & {"eval", "exec", "compile", "getattr", "__import__", "import_module"}


def test_streams_are_read_too():
    for name in sorted(STREAMS.keys() - IN_CODE):
        assert read_query(text_of(EVERY[name](pandas_dp.query(epsilon=0.5))), HALF)._calls
