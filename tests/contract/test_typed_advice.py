"""What a refusal advises is typed, as a user would, until it is answered: two refusals in a row are the most."""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import linecache
import re
from collections.abc import Iterator

import pandas as pd
import pytest
from support import questions
from support.frames import protected

from pandas_dp import PandasDPError

NOTHING = "there is no line to type"
MOST = 2  # refusals in a row
PRICE = "df.dp.preview(epsilon=50)"  # refuses what a question refuses, and reads nothing
SCHEMA = {"cost": {"bounds": (0, 100)}, "age": {"bounds": (0, 120)}, "ward": {"keys": questions.KEYS}}
STEPS = ("query", "assign")  # which say themselves what is wrong with an expression
ENDS = {"day": questions.DAYS, "wait": questions.HOUR}  # of columns that hold no numbers
NOBODY_KNOWS = (  # what was meant: which column, which expression, what a function shall return
    r"no column named '[^']*'$",
    "score: there is no column ",
    "the function returned ",
    r"mst_cost\(\) needs weight",
    "sensitivity bounds the sum of the changes with norm=1, ",  # nor in which norm it was meant
    # sums of other bins or keys than those that an earlier refusal has put in their place
    r"query \d+ of the workload must (have a weight for each of the|be two edges of the bins) ",
)
TWICE = {  # questions of which what is typed beside a missing argument fits another kind of column, function or list alone
    *("sum of durations", "histogram of days", "sums of bins", "sums of keys", "own numbers", "means of blocks"),
    *("group means of blocks", "top_k", "found top_k", "select by table", "smooth blocks", "groups by noisy size"),
    *("regression on categories", "agg by column", "agg by name", *questions.IN_OWN_BOUNDS),
}
numbered = itertools.count()


def asked() -> dict[str, ast.expr]:
    """The calls of all questions, as they stand in the table of them."""
    tree, found = ast.parse(inspect.getsource(questions)), {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Lambda):
                    found[key.value] = value.body
    return found


CALLS = asked()


def links(chain: ast.expr) -> Iterator[ast.Call]:
    """The calls of a chain, the last one first."""
    while isinstance(chain, ast.Call | ast.Subscript | ast.Attribute):
        if isinstance(chain, ast.Call):
            yield chain
        chain = chain.func if isinstance(chain, ast.Call) else chain.value


def wrong(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """A chain with one thing wrong: an argument left out, misspelt, of another type, or out of range."""
    for at, link in enumerate(links(call)):
        if isinstance(link.func, ast.Attribute) and link.func.attr in STEPS:
            continue
        for i, _ in enumerate(call_at(call, at).args):
            for how, value in others(call_at(call, at).args[i]):
                made = copy.deepcopy(call)
                args = call_at(made, at).args
                args[i : i + 1] = [] if value is None else [value]
                yield f"{how} {at} {i}", made
        for i, word in enumerate(call_at(call, at).keywords):
            for how, value in others(word.value):
                made = copy.deepcopy(call)
                words = call_at(made, at).keywords
                words[i : i + 1] = [] if value is None else [ast.keyword(word.arg, value)]
                yield f"{how} {at} {word.arg}", made
            made = copy.deepcopy(call)
            call_at(made, at).keywords[i].arg = word.arg[:-1] if len(word.arg) > 1 else word.arg * 2
            yield f"misspelt {at} {word.arg}", made
            made = copy.deepcopy(call)
            inner = call_at(made, at)
            inner.args.append(inner.keywords.pop(i).value)
            yield f"by place {at} {word.arg}", made


def call_at(chain: ast.expr, at: int) -> ast.Call:
    return list(links(chain))[at]


def others(value: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    """What may stand in place of an argument, None where it is left out."""
    yield "left out", None
    typed = value.value if isinstance(value, ast.Constant) else None
    yield "number", ast.Constant(-5)
    if isinstance(typed, str):
        yield "misspelt", ast.Constant(typed[:-1] + "x")
    else:
        yield "text", ast.Constant("x")
        yield "nothing", ast.List([])
    if isinstance(value, ast.Tuple):
        yield "reversed", ast.Tuple(value.elts[::-1])


class Session:
    """A notebook: the text of its cells can be read."""

    def __init__(self, df: pd.DataFrame) -> None:
        self.names = {
            **vars(questions),
            "df": df,
            "pd": pd,
            "largest_change": 1,
            "lower": 0,
            "upper": 100,
            "last_year": questions.table(),
            "other_town": questions.table(),
        }

    def run(self, line: str) -> str | None:
        """Type a line: what it is refused with, or nothing."""
        name = f"<cell {next(numbered)}>"
        for column, pair in ENDS.items():
            line = line.replace(f"'{column}': (lower, upper)", f"'{column}': {pair!r}".replace("Time", "pd.Time"))
        linecache.cache[name] = (len(line), None, [line], name)
        ends = next((pair for column, pair in ENDS.items() if f"'{column}'" in line), (0, 100))
        self.names |= {"lower": ends[0], "upper": ends[1]}
        try:
            eval(compile(line, name, "eval"), self.names)
        except PandasDPError as error:
            return str(error)
        return None


def advised(text: str, typed: str) -> str | None:
    """The line of a refusal that begins as the one that was typed, and is another."""
    for found in re.finditer(r"df\.dp\.preview\(", text):
        for end in range(len(text), found.end(), -1):
            try:
                line = ast.unparse(ast.parse(text[found.start() : end], mode="eval"))
            except SyntaxError:
                continue
            if isinstance(ast.parse(line, mode="eval").body, ast.Call) and line != typed:
                return line
    return None


def followed(session: Session, line: str) -> list[str]:
    """Refusals until a line is answered; the last one says where there is nothing to type."""
    refusals: list[str] = []
    while (refusal := session.run(line)) is not None:
        refusals.append(refusal)
        if any(re.match(excuse, refusal) for excuse in NOBODY_KNOWS):
            return refusals[:MOST]
        following = advised(refusal, line)
        if len(refusals) > MOST or following is None:
            return [*refusals, NOTHING]
        line = following
    return refusals


def on(chain: ast.expr, price: str) -> str:
    """A chain that begins with a price."""
    made = copy.deepcopy(chain)
    for node in ast.walk(made):
        if isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
            inner = node.func if isinstance(node, ast.Call) else node.value
            if isinstance(inner, ast.Name) and inner.id == "d":
                node.value = ast.parse(price, mode="eval").body
    return ast.unparse(made)


def lines(name: str, price: str) -> list[str]:
    call = CALLS[name]
    return list(dict.fromkeys(on(made, price) for _, made in wrong(call)))


def priced(name: str, steps: str = "") -> str:
    return ("df.dp.preview(epsilon=50, delta=1e-6)" if name in questions.FOUND else PRICE) + steps


def session_for(name: str, **terms: object) -> Session:
    if name in questions.ROW_BY_ROW:
        terms |= {"neighbors": "replace_one", "rows": True}
    if name in questions.BY_UNIT:
        terms |= {"unit": "uid", "max_rows": 4}
    return Session(protected(questions.table(), epsilon=1000, delta=1e-3, **terms))


CASES = [  # by turns: each question meets both kinds of steps and of terms
    pytest.param(name, steps, schema, id=f"{name}-{'steps' if steps else 'whole'}-{'schema' if schema else 'typed'}")
    for number, name in enumerate(CALLS)
    for steps, schema in zip(("", ".query('age > 20')"), (None, SCHEMA)[:: (-1) ** number], strict=True)
]


@pytest.mark.one_in(19)
@pytest.mark.parametrize(("name", "steps", "schema"), CASES)
def test_what_a_refusal_advises_is_answered(name, steps, schema):
    # of keys that a schema lists none is found, and other prices are asked for
    session = session_for(name, schema=None if name in questions.FOUND else schema)
    found = {line: followed(session, line) for line in lines(name, priced(name, steps))}
    assert {line: refusals for line, refusals in found.items() if len(refusals) > MOST or NOTHING in refusals} == {}


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", sorted(CALLS.keys() - TWICE))
def test_a_missing_argument_is_named_with_all_else_that_is_missing(name):
    """One refusal, and then an answer."""
    session = session_for(name, schema=None)
    lacking = [on(made, priced(name)) for how, made in wrong(CALLS[name]) if how.startswith("left out")]
    found = {line: followed(session, line) for line in lacking}
    assert {line: refusals for line, refusals in found.items() if len(refusals) > 1} == {}
