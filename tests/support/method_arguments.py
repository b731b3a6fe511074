"""Arguments with which methods of expressions are tried, on columns of every dtype; of those that are not here none."""

from __future__ import annotations

from typing import Any

import numpy as np

from pandas_dp.steps.expression import Column

X, Y = Column("x"), Column("y")
OPERATORS = ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "truediv", "floordiv", "mod", "pow")
REFLECTED = ("radd", "rsub", "rmul", "rtruediv", "rdiv", "rfloordiv", "rmod", "rpow")
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")

ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    **{name: [(3,), (Y,)] for name in (*OPERATORS, *REFLECTED)},
    **{name: [(3,), ("a",), (Y,)] for name in COMPARED},
    "combine_first": [(Y,), (3,), ("a",)],
    "replace": [(3, 0), ({"a": "b", "x": ""},), (3, np.nan), ("a", None), ([0, 1], 2), ({1: 0, 0: 1},)],
    "str.removeprefix": [("a",)],
    "str.removesuffix": [("x",)],
    "str.zfill": [(4,), (0,)],
    "str.repeat": [(0,), (3,), (10_000,)],
    "str.normalize": [("NFD",), ("NFKC",)],
    "str.count": [("a",), ("",)],
    "str.find": [("a",), ("2", 1), ("", 0, -1)],
    "str.rfind": [("a",), ("2", 1), ("", 0, -1)],
    "str.ljust": [(4,), (4, "é")],
    "str.rjust": [(4,), (4, "é")],
    "str.center": [(4,), (5, "é")],
    "str.pad": [(4,), (4, "right"), (5, "both", "*")],
    "str.slice_replace": [(0, 1, "z"), (2, 1, "z"), (None, -1), (-1, None, "zz")],
    "str.replace": [("a", "bb"), ("", "-"), (".", ""), ("a", "b" * 6000, 1), ("", "b" * 6000)],
    "str.match": [("[a-z]",), ("a|A",), ("A", False)],
    "str.fullmatch": [("[0-9.]+",), ("a|A b ",), ("X", False)],
    "str.extract": [("([0-9]+)",), ("^(?P<first>.)(?:.)",), (r"\.(\d)",), ("(z*)",)],
    "str.split": [(), (" ",), (".",), ("a",), ("00",)],
    "str.rsplit": [(), (" ",), (".",)],
    "str.get": [(0,), (-1,), (3,)],
    "str.cat": [(Y,), (Y, "-"), (Y, None, "?")],
    "str.to_datetime": [(), ("%Y-%m-%d",), ("%d.%m.%Y %H:%M",), ("%b %d, %y %I%p",), ("%Y-%m-%d %H:%M%z",)],
    "struct.field": [("a",), ("b",)],
    "dt.strftime": [("%Y-%m-%d %H:%M:%S.%f",), ("%G-W%V-%u %j %y",), ("%A %a %B %b %I%p 100%%",)],
    "dt.floor": [("h",), ("D",), ("15min",), ("250ms",), ("7D",)],
    "dt.ceil": [("h",), ("D",), ("250ms",)],
    "dt.round": [("h",), ("2D",), ("250ms",)],
    "dt.tz_localize": [(), ("Europe/Berlin",), ("UTC",)],
    "dt.tz_convert": [("Asia/Tokyo",), ("America/New_York",)],
}
BARE = {
    *("str.capitalize", "str.casefold", "str.title", "str.swapcase", "str.isalnum", "str.isalpha", "str.isascii"),
    *("str.isdecimal", "str.isdigit", "str.islower", "str.isnumeric", "str.isspace", "str.istitle", "str.isupper"),
    *("list.len", "dt.month_name", "dt.day_name", "dt.total_seconds", "dt.normalize"),
}


def parts_of_text(method: Any) -> list[tuple[str, Any]]:
    """What is taken out of a text that was split, by the name of the method."""
    split = [method["str.split"](X, " "), method["str.rsplit"](X, ".", n=1)]
    return [("str.get", method["str.get"](one, place)) for one in split for place in (0, 1, -1)] + [
        ("str.len", method["str.len"](one)) for one in split
    ]
