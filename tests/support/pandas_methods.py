"""The page on pandas' methods: each is traced, a step, a question, or refused with what to write instead.

``python -m tests.support.pandas_methods`` writes it again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.core.arrays.arrow.accessors import ListAccessor, StructAccessor
from pandas.core.indexes.accessors import CombinedDatetimelikeProperties

from pandas_dp.questions.frame import PricedFrame
from pandas_dp.questions.unknown_names import HINTS, OTHERS
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.functions import METHODS
from pandas_dp.steps.refusals import REASONS
from pandas_dp.steps.steps import RowSteps

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "pandas-methods.md"
SPACES: dict[str, Any] = {
    "": pd.Series,
    "str": pd.Series.str,
    "dt": CombinedDatetimelikeProperties,
    "cat": pd.Series.cat,
    "list": ListAccessor,
    "struct": StructAccessor,
    "sparse": pd.Series.sparse,
}
OWN = {"str.to_datetime", "cut"}  # of this package alone


def public(owner: Any) -> list[str]:
    """Names of pandas, without those of what accessors keep for themselves."""
    return [name for name in dir(owner) if not name.startswith("_")]


def accessors() -> set[str]:
    """What a Series keeps methods under."""
    kind = type(inspect.getattr_static(pd.Series, "str"))
    return {name for name in public(pd.Series) if isinstance(inspect.getattr_static(pd.Series, name), kind)}


def names(space: str) -> list[str]:
    """Methods of columns as expressions name them."""
    return [f"{space}.{name}" if space else name for name in public(SPACES[space])]


def traced(name: str) -> bool:
    """Whether an expression takes it."""
    return name in METHODS or name in PROPERTIES


def stepped(name: str) -> bool:
    """Whether it is a step of tables."""
    return name in vars(RowSteps)


def asked(name: str) -> bool:
    """Whether it is a question."""
    return hasattr(PricedFrame, name) and not stepped(name)


def call(name: str) -> str:
    """How it is written in an expression."""
    if name in PROPERTIES:
        return f"`{name}`"
    parameters = list(inspect.signature(METHODS[name]).parameters.values())[1:]
    return f"`{name}({', '.join(p.name for p in parameters)})`"


def refused(listed: Iterable[str], reasons: dict[str, str]) -> list[str]:
    """A table of those that are refused; methods of one reason stand together."""
    together: dict[str, list[str]] = {}
    for name in listed:
        together.setdefault(reasons[name], []).append(f"`{name}`")
    rows = [f"| {', '.join(found)} | {reason.replace('|', chr(92) + '|')} |" for reason, found in together.items()]
    return ["| refused | why, and what to write |", "|---|---|", *rows, ""]


def hint(name: str) -> str:
    """What a question that is none says, of a column x."""
    return (HINTS | OTHERS)[name].replace("{column}", "'x', ")


def page() -> str:
    """The page."""
    lines = [
        "# pandas' methods",
        "",
        "Every method of a pandas Series or DataFrame: whether it works here, and what to write instead if it does not. The",
        f"lists are those of pandas {'.'.join(pd.__version__.split('.')[:2])}. In the examples x and y are numbers, g is text,",
        "when is a date, tags holds lists and place holds structs.",
        "",
        'Expressions are used in steps: `df.dp.query("x.abs() > 3")`, `df.dp.assign(z=lambda d: d.g.str.lower())`,',
        '`df.dp.filter(pd.col("x") > 3)`. Each row of the result depends on that row alone. What cannot be computed is',
        "missing: a text that is not a date, a list without such an entry, a text that becomes longer than 10,000",
        "characters. Patterns are read by RE2, in which `\\d`, `\\w` and `\\s` match ASCII only. Parts of dates and lengths of",
        "text are numbers of float64, or `Float64`. Hours that clocks show twice or never are missing after `dt.tz_localize`.",
        "",
    ]
    for space in SPACES:
        listed = names(space)
        taken = [name for name in listed if traced(name)]
        lines += [f"## {f'`.{space}`' if space else 'Columns'}", ""]
        if taken:
            own = sorted(name for name in OWN if name.partition(".")[0] == space or (not space and "." not in name))
            lines += [f"In expressions: {', '.join(map(call, taken))}.", ""]
            lines += [f"In addition to pandas' methods: {', '.join(map(call, own))}.", ""] if own else []
        if len(taken) < len(listed):
            lines += refused([name for name in listed if not traced(name)], REASONS)
    listed = public(pd.DataFrame)
    steps, questions = [n for n in listed if stepped(n)], [n for n in listed if asked(n)]
    lines += ["## Tables", "", f'Steps, as in `df.dp.query("x > 3")`: {", ".join(f"`{n}`" for n in steps)}.', ""]
    lines += [f"Questions, as in `df.dp(epsilon=0.5).count()`: {', '.join(f'`{n}`' for n in questions)}.", ""]
    lines += refused([n for n in listed if not stepped(n) and not asked(n)], {name: hint(name) for name in HINTS})
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
