"""What users write: one tree for every spelling of the same operations, and a refusal for whatever sees other rows."""

# ruff: noqa: SIM300, RUF005 - every order of writing is the point

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Map, Method, Operation
from pandas_dp.steps.parse import parse_expression

COLUMNS = ["x", "y", "g", "when", "flag", "a b", "count", "class", "per cent"]
OUTSIDE = pd.DataFrame({"x": [1.0, 2.0], "g": ["a", "b"]})
x, y, g, flag = Column("x"), Column("y"), Column("g"), Column("flag")


def op(name: str, *operands: object) -> Expression:
    return Operation(name, tuple(o if isinstance(o, Expression) else Constant(o) for o in operands))


def method(name: str, operand: Expression, **options: object) -> Expression:
    return Method(name, (operand,), tuple(options.items()))  # type: ignore[arg-type]


def among(operand: Expression, *constants: object) -> Expression:
    return IsIn((operand,), tuple(map(Constant, constants)))


def newer(make: Callable[[], object]) -> list[object]:
    """An expression of ``pandas.col`` that the first version with it could not write: of powers, abs(), and within lists."""
    return [make()] if hasattr(type(pd.col("x")), "__pow__") else []


SPELLINGS = {
    op(">", x, 3): ["x > 3", "3 < x", "(x) > +3", lambda d: d.x > 3, lambda d: 3 < d["x"], pd.col("x") > 3],
    op("==", g, "it's"): ['g == "it\'s"', lambda d: d.g == "it's", lambda d: "it's" == d.g],
    op("and", op(">", x, 1), op("<", y, 2), flag): [
        "x > 1 and y < 2 and flag",
        "x > 1 & y < 2 & flag",
        "(x > 1) & ((y < 2) & flag)",
        "x > 1\n  and y < 2  # a remark\n  and flag",
        lambda d: (d.x > 1) & (d.y < 2) & d.flag,
        (pd.col("x") > 1) & (pd.col("y") < 2) & pd.col("flag"),
        lambda d: np.logical_and(d.x > 1, (d.y < 2) & d.flag),
    ],
    op("or", op("not", flag), op("!=", g, "a&b")): [
        "not flag or g != 'a&b'",
        "~flag | g != 'a&b'",
        lambda d: ~d.flag | (d.g != "a&b"),
        ~pd.col("flag") | (pd.col("g") != "a&b"),
    ],
    op("and", op("<", x, y), op("<=", y, 9)): ["x < y <= 9", lambda d: (d.x < d.y) & (9 >= d.y)],
    op("and", op(">=", x, 0), op("<=", x, 1)): [
        "0 <= x <= 1",
        "x.between(0, 1)",
        "x.between(left=0, right=1)",
        lambda d: d.x.between(0, 1),
        pd.col("x").between(0, right=1),
    ],
    op("and", op(">", x, y), op("<", x, 1)): ["x.between(y, 1, inclusive='neither')"],
    among(g, "a", "b"): [
        "g in ['a', 'b']",
        "g in ('b', 'a', 'a')",
        "g.isin({'a', 'b'})",
        lambda d: d.g.isin({"a", "b"}),
        pd.col("g").isin(["b", "a"]),
    ],
    op("not", among(x, 1, -2.0)): ["x not in [1, -2.0]", "~x.isin([1, -2.0])", lambda d: ~d.x.isin([1, -2.0])],
    among(x, 0, 1, 2): [lambda d: d.x.isin(range(3)), "x in [0, 1, 2]"],
    op("isna", x): ["x.isna()", "x.isnull()", lambda d: d.x.isna(), lambda d: np.isnan(d.x), pd.col("x").isnull()],
    op("not", op("isna", x)): ["x.notna()", "not x.isna()", lambda d: d.x.notnull(), lambda d: ~d.x.isna()],
    op("/", op("*", x, 2), op("**", y, 2)): [
        "x * 2 / y ** 2",
        lambda d: d.x * 2 / d.y**2,
        lambda d: np.divide(d.x * 2, d.y**2),
        *newer(lambda: pd.col("x") * 2 / pd.col("y") ** 2),
    ],
    op("*", 2.0, x): ["2.0 * x", lambda d: np.multiply(2.0, d.x), lambda d: 2.0 * d.x, 2.0 * pd.col("x")],
    op("-", 1, op("%", op("//", x, 2), 3)): ["1 - x // 2 % 3", lambda d: 1 - d.x // 2 % 3],
    op("negative", op("abs", x)): [
        "-x.abs()",
        lambda d: -abs(d.x),
        lambda d: -np.abs(d.x),
        *newer(lambda: -abs(pd.col("x"))),
    ],
    op("log1p", x): [lambda d: np.log1p(d.x), np.log1p(pd.col("x"))],
    op("sqrt", op("+", x, y)): [lambda d: np.sqrt(d.x + d.y)],
    op("round", x, 1): ["x.round(1)", lambda d: round(d.x, 1), lambda d: d.x.round(decimals=1)],
    op("round", x, 0): ["x.round()", lambda d: round(d.x)],
    op("at_most", op("at_least", x, 0), 5.5): ["x.clip(0, 5.5)", lambda d: d.x.clip(lower=0, upper=5.5)],
    op("at_most", x, 5): ["x.clip(upper=5)", "x.clip(None, 5)", lambda d: d.x.clip(None, 5)],
    op("fillna", x, -1): ["x.fillna(-1)", lambda d: d.x.fillna(-1), pd.col("x").fillna(-1)],
    op(">", Column("a b"), Column("per cent")): ["`a b` > `per cent`", lambda d: d["a b"] > d["per cent"]],
    op("==", Column("class"), Column("count")): ["`class` == count", lambda d: d["class"] == d["count"]],
    op(">=", Column("when"), pd.Timestamp("2024-01-01")): [
        lambda d: d.when >= pd.Timestamp("2024-01-01"),
        lambda d: pd.Timestamp("2024-01-01") <= d.when,
        pd.col("when") >= pd.Timestamp("2024-01-01"),
    ],
    op("-", Column("when"), pd.Timestamp(0)): [lambda d: d.when - pd.Timestamp(0)],
    op("==", op("dt.year", Column("when")), 2024): [
        "when.dt.year == 2024",
        lambda d: d.when.dt.year == 2024,
        pd.col("when").dt.year == 2024,
    ],
    op("dt.day_of_week", Column("when")): ["when.dt.weekday", lambda d: d["when"].dt.dayofweek],
    method("str.lower", g): ["g.str.lower()", lambda d: d.g.str.lower(), pd.col("g").str.lower()],
    op(">", method("str.len", g), 3): ["g.str.len() > 3", lambda d: d.g.str.len() > 3, pd.col("g").str.len() > 3],
    method("str.strip", method("str.strip", g), to_strip=".-"): [
        "g.str.strip().str.strip('.-')",
        lambda d: d.g.str.strip().str.strip(to_strip=".-"),
    ],
    method("str.contains", g, pat="a b", case=True, regex=False): [
        "g.str.contains('a b')",
        lambda d: d.g.str.contains("a b"),
        pd.col("g").str.contains("a b", regex=False),
    ],
    method("str.contains", g, pat="a.", case=False, regex=False): [
        "g.str.contains('a.', False, regex=False)",
        lambda d: d.g.str.contains("a.", regex=False, case=False),
    ],
    method("str.startswith", g, pat=("a", "b")): [
        "g.str.startswith(('b', 'a', 'a'))",
        lambda d: d.g.str.startswith(("a", "b")),
    ],
    op("fillna", method("str.startswith", g, pat="a"), False): [
        "g.str.startswith('a').fillna(False)",
        lambda d: d.g.str.startswith("a", na=False),
    ],
    method("str.endswith", g, pat="z"): ["g.str.endswith('z')", pd.col("g").str.endswith("z")],
    method("str.slice", g, start=None, stop=2, step=None): [
        "g.str.slice(stop=2)",
        "g.str.slice(None, 2)",
        lambda d: d.g.str[:2],
        pd.col("g").str[:2],
    ],
    method("astype", x, dtype="int64"): [
        "x.astype('int64')",
        "x.astype('Int64')",
        lambda d: d.x.astype(int),
        lambda d: d.x.astype(np.dtype("int64")),
        pd.col("x").astype("int64"),
    ],
    method("astype", g, dtype="float64"): ["g.astype('float')", lambda d: d.g.astype(float)],
    method("astype", x, dtype="string"): ["x.astype('string')", lambda d: d.x.astype(str)],
    method("astype", x, dtype="bool"): ["x.astype('bool')", lambda d: d.x.astype(bool)],
    op("where", x, op(">", x, 0), 0): ["x.where(x > 0, 0)", lambda d: d.x.where(d.x > 0, other=0)],
    op("where", x, op(">", x, 0)): ["x.where(x > 0)", pd.col("x").where(pd.col("x") > 0)],
    op("where", x, op("not", op(">", x, 0)), y): ["x.mask(x > 0, y)", lambda d: d.x.mask(d.x > 0, d.y)],
    op("case_when", x, op(">", x, 0), "some", True, "none"): [
        "x.case_when([(x > 0, 'some'), (True, 'none')])",
        "x.case_when(caselist=[[x > 0, 'some'], [True, 'none']])",
        lambda d: d.x.case_when([(d.x > 0, "some"), (True, "none")]),
        *newer(lambda: pd.col("x").case_when([(pd.col("x") > 0, "some"), (True, "none")])),
    ],
    method("cut", x, bins=(0, 1, 2.5), right=True, labels=("(0, 1]", "(1, 2.5]"), include_lowest=False): [
        "x.cut([0, 1, 2.5])",
        lambda d: d.x.cut((0, 1, 2.5)),
        pd.col("x").cut([0, 1, 2.5]),
    ],
    method("cut", x, bins=(0, 1, 2), right=False, labels=(0, 1), include_lowest=True): [
        "x.cut([0, 1, 2], right=False, labels=[0, 1], include_lowest=True)",
        lambda d: d.x.cut(range(3), False, labels=False, include_lowest=True),
    ],
    Map((g,), (("a", 1), ("b", 2))): [
        "g.map({'b': 2, 'a': 1})",
        lambda d: d.g.map({"a": 1, "b": 2}),
        lambda d: d.g.map({"a": 1, "b": 2}, na_action="ignore"),
        pd.col("g").map({"b": 2, "a": 1}),
    ],
    Constant(True): ["True", lambda d: True],
    Constant(4.5): [lambda d: 4.5],
    Constant(-1): ["-1"],
}


@pytest.mark.parametrize("tree", SPELLINGS, ids=str)
def test_every_spelling_gives_the_same_tree(tree):
    for source in SPELLINGS[tree]:
        parsed = parse_expression(source, COLUMNS)
        assert parsed == tree
        assert repr(parsed) == repr(tree)


@pytest.mark.parametrize(
    "text",
    ["x > 1 & y < 2 | x == 3", "-x ** 2 > -4", "2.0 ** -x < 1", "not x > 1 and y > 1", "x - y - 1 > 0", "x / y * 2 > 1"]
    + ["x > 1 or y > 1 and x < 0", "~(x > 1) & y > 1", "1 < x < 3", "x in [1, 2] and y not in [3]", "`a b` == 1"],
)
def test_precedence_is_that_of_pandas_query(text):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(-3, 4, size=(60, 3)), columns=["x", "y", "a b"])
    kept = frame[parse_expression(text, frame.columns).condition(frame)]
    assert 0 < len(kept) < len(frame)
    pd.testing.assert_frame_equal(kept, frame.query(text))


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (lambda d: d.x / d.x.max(), "a maximum everybody may know, as in x / 100"),
        ("x / x.max() > 1", "a maximum everybody may know, as in x / 100"),
        ("max(x) > 1", "a maximum everybody may know"),
        (lambda d: d.x > d.x.mean(), r"df\.dp\(epsilon=0\.5\)\.mean"),
        (lambda d: 1 if d.x > 3 else 0, "use &, | and ~ in place of 'and', 'or', 'not', 'if'"),
        (lambda d: d.x > OUTSIDE.x, "Use columns of this table"),
        (lambda d: len(d), r"df\.dp\(epsilon=\.\.\.\)\.count\(\)"),
        (lambda d: d["x"][0], "by a condition"),
        (lambda d: d.x == None, r"\.isna\(\)"),  # noqa: E711
        (lambda d: np.sum(d.x), "as in x - 40"),
        (lambda d: np.maximum(d.x, 0), r"\.clip\(lower=0\)"),
        (lambda d: pd.cut(d.x, 5), r"d\.x\.cut\(\[0, 18, 65\], labels="),
        (lambda d: d.when.dt, r"such as when\.dt\.year"),
        (lambda d: d.when.dt.foo, "Those that can: dt.ceil, "),
        (lambda d: d.when.dt.year(), r"leave out the \(\)"),
        (lambda d: d.when.dt.year.mean(), "as in x - 40"),
        (lambda d: np.where(d.x > 1, 1, 0), r"\.case_when\(\[\(d\.x < 18, 'young'\)"),
        (lambda d: np.select([d.x > 1], [1], 0), r"\.case_when\("),
        (lambda d: d.x.case_when(d.y), r"case_when takes pairs.*\(True, 'old'\)"),
        (lambda d: d.x.case_when([]), "case_when takes pairs"),
        (lambda d: d.x.case_when([(d.x > 1, 1, 2)]), "case_when takes pairs"),
        (lambda d: d.x.where(d.x > 1, OUTSIDE.x), "Use columns of this table"),
        (lambda d: d.x.cut(5), r"public edges in ascending order, as in \.cut\(\[0, 18, 65, 120\]"),
        (lambda d: d.x.cut([5]), "public edges"),
        (lambda d: d.x.cut([1, d.y]), "public edges.*not columns"),
        (lambda d: d.x.cut([1, 2, 3], labels=["a"]), "3 edges need 2 labels"),
        (lambda d: d.x.cut([1, 2, 3], labels=["a", "a"]), "3 edges need 2 labels, each a different one"),
        (lambda d: d.x.cut([1, 2, 3], labels=["a", 1]), "one kind"),
        (lambda d: d.x.cut([1, 2], labels="a"), "labels has to be a list"),
        (lambda d: d.x.cut([1, 2], right=1), "True or False"),
        (lambda d: d.g.map(str.upper), r"\.map\(\{'a': 'first'"),
        (lambda d: d.g.map({}), r"\.map\(\{'a': 'first'"),
        (lambda d: d.g.map({"a": d.x}), "constants, not columns"),
        (lambda d: d.g.map({"a": 1, "b": "c"}), "values of one kind, not numbers and text"),
        (lambda d: d.g.map({"a": None}), "missing value"),
        (lambda d: d.g.map({1: "a", pd.Timestamp(0): "b"}, "x"), "na_action"),
        (lambda d: d.g.map(OUTSIDE.g), "Use columns of this table"),
        (lambda d: d.g.apply(str.upper), r"\.map\(\{'a': 1\}\)"),
        (lambda d: d.g.replace({"a": "b"}, regex=True), r"\.replace\(\{'a': 'b'\}\)"),
        ("g.map({**x}) > 1", "row by row"),
        ("g.map({x: 1}) > 1", "public constants"),
        ("g.map({[1]: 1}) > 1", "public constants"),
        (lambda d: d.g.str, r"such as g\.str\.lower"),
        (lambda d: d.g.str["a"], r"\.str\[0:1\]"),
        (lambda d: d.g.str.slice(0, "1"), r"\.str\.slice\(0, 3\)"),
        (lambda d: d.g.str[::0], "step cannot be 0"),
        (lambda d: d.g.str.contains("a|b"), r"regex=True for that, or regex=False"),
        (lambda d: d.g.str.contains("(?=a)", regex=True), "has no lookaheads"),
        (lambda d: d.g.str.contains("a", flags=2), "write case=False"),
        (lambda d: d.g.str.contains("a", na=True), r"\| d\.x\.isna\(\)"),
        (lambda d: d.g.str.contains("a", case=1), "True or False"),
        (lambda d: d.g.str.contains(d.g), r"public text, as in \.str\.contains\('a'\)"),
        (lambda d: d.g.str.startswith(3), r"public text, as in \.str\.startswith\('a'\)"),
        (lambda d: d.g.str.replace("a", "b", regex=True), r"\.str\.extract\("),
        (lambda d: d.g.str.lower("a"), "too many positional arguments"),
        ("g.str.len > 3", r"called on a column: x\.str\.len\(\.\.\.\)"),
        ("g.str.match('(a')", "not a valid regular expression"),
        ("when.dt.year() > 3", r"x\.dt\.year is written without \(\)"),
        ("when.dt > 3", r"such as when\.dt\.year"),
        ("when.dt.year.mean() > 3", "as in x - 40"),
        ("when.dt.floor('MS') > 3", "for months write"),
        ("when.dt.floor('W') > 3", "for months write"),
        (lambda d: d.x.astype("category"), "can be keys as they are"),
        (lambda d: d.x.astype("datetime64[ns]"), r"x\.str\.to_datetime"),
        (lambda d: d.x.astype({"x": int}), "astype takes 'float64'"),
        (lambda d: d.x.astype(d.y), "astype takes 'float64'"),
        ("x.astype('i4') > 3", "astype takes 'float64'"),
        ("x.astype(y) > 3", "astype takes 'float64'"),
        (lambda d: d.count, r"d\['count'\]"),
        ("x > @limit", "lambda d: d.x > limit"),
        ("x == [1, 2]", "x|ward in"),
        ("x is None", r"\.isna\(\)"),
        ("g in x", "list of constants"),
        ("1 if flag else 0", "condition"),
        ("x = 1", "cannot be read"),
        ("flag ^ flag", r"\*\*"),
        ("x[0]", "row by row"),
        (3, "has to be text, a function"),
        (None, "has to be text, a function"),
    ],
)
def test_a_refusal_says_what_to_type_instead(source, advice):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=advice):
        parse_expression(source, COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "x > x.mean()",
        "x.rank() > 2",
        "x.shift() > 0",
        "x > g.str.count('[a]')",
        "x.__class__",
        "x.values > 1",
        "x.max",
        "len(x)",
    ]
    + ["f(x)", "__import__('os').getcwd()", "lambda: 1", "[v for v in x]", "(x, y)", "{'a': x}", "x; y", "(x := 3)"]
    + ["f'{x}'", "b'a' == g", "1j * x", "...", "*x", "x.isin(*[1])", "x.isin(**{})", "await x", "x.isin(x)", "x.isin()"]
    + ["x.between(1)", "x.between(1, 2, inclusive='no')", "x.round(1.5)", "x.round(True)", "x.clip(2, 1)", "x.clip()"]
    + [
        "x.clip(y)",
        "x.clip('a')",
        "x.fillna([y])",
        "x == None",
        "x == " + "9" * 30,
        "x == nan",
        "",
        " ",
        "x >",
        "(x",
        "x)",
    ]
    + [
        "x > 1)(",
        "`a b",
        "``",
        "`nope` > 1",
        "x in g",
        "x in [y]",
        "'a' in g",
        "index > 3",
        "x\x00",
        "\ud800",
        "'\ud800' == g",
    ]
    + ["(" * 500 + "x" + ")" * 500, "not " * 3000 + "flag", "x" + " + x" * 3000, "9" * 5000, "x and" * 10],
)
def test_text_that_is_not_row_wise_or_no_expression_is_refused(text):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=r"^query: "):
        parse_expression(text, COLUMNS, argument="query")


@pytest.mark.parametrize(
    "source", ["nope > 1", "`nope` > 1", lambda d: d.nope, lambda d: d["nope"], pd.col("nope") > 1]
)
def test_an_unknown_column_is_named_and_none_of_the_others(source):
    with pytest.raises(ArgumentValueError, match=r"^filter: there is no column 'nope'$"):
        parse_expression(source, ["secret_diagnosis"], argument="filter")


def test_a_released_number_is_a_constant():
    class Release(float):
        pass

    parsed = parse_expression(lambda d: d.x / Release(2.5), COLUMNS)
    assert parsed == op("/", x, 2.5)
    assert type(parsed.operands[1].value) is float
