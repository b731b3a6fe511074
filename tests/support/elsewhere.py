"""Every question on tables whose rows are elsewhere: what it is asked of, at a price without noise worth speaking of."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from support.frames import fresh
from support.questions import BY_UNIT, EVERY, FEW_BLOCKS, FOUND, FROM_BLOCKS, ROW_BY_ROW, STREAMS, table

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.core.statistics.counts import RowCounts, UnitSizes
from pandas_dp.core.statistics.lattice_counts import Grid, LatticeCounts
from pandas_dp.core.statistics.products import Products
from pandas_dp.core.statistics.scores import CountWhere, RowScores
from pandas_dp.core.statistics.strategies import Haar, Tree, Weighted
from pandas_dp.core.statistics.sums import Centred, Moments, Total
from pandas_dp.steps.parse import parse_expression

QUESTIONS = {name: ask for name, ask in (EVERY | FOUND | FEW_BLOCKS).items() if name not in STREAMS}
DRAWN = {*FROM_BLOCKS, "vote", "median of blocks", "winsorized mean", "winsorized blocks", "smooth blocks"}
DRAWN |= {"groups by noisy size"}
SAME = [name for name in QUESTIONS if name not in DRAWN]


def with_nulls() -> pd.DataFrame:
    """Every fifth cost, every seventh age and every eleventh ward are missing."""
    frame = table()
    frame["cost"] = frame["cost"].astype("float64").mask(frame.index % 5 == 0)
    frame["age"] = frame["age"].mask(frame.index % 7 == 0)
    frame.loc[frame.index % 11 == 0, "ward"] = None
    return frame


def prepared(held: Any, steps: bool) -> Any:
    """The table after steps of several kinds, which leave every column as it is but for missing values."""
    if not steps:
        return held
    made = held.dp.query("age > 21 and uid < 45").dp.eval("more = cost + age").dp.fillna({"cost": 5})
    return made.dp.filter(lambda d: (d.more != 50) | d.more.isna()).dp.rename({"more": "extra"})


def answer(name: str, held: Any, unit: bool = False, steps: bool = False) -> Any:
    """What a question returns of a table, at a price without noise worth speaking of."""
    units = {"unit": "uid", "max_rows": 4} if unit or name in BY_UNIT else {}
    relation = {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}
    session = held.dp.protect(10**6, 0.5, delta_reserved=0.4, name=fresh(), **relation, **units)
    price = {"epsilon": 10**5, "delta": 1e-6} if name in FOUND else {"epsilon": 10**5}
    given = QUESTIONS[name](prepared(held, steps).dp(**price)).value
    session.close()  # while it is open, the same files take no other budget
    return given


def same_form(one: Any, other: Any) -> bool:
    """Whether two answers have one type; a date is missing where its noisy number of rows is too small."""
    return type(one) is type(other) or {type(one), type(other)} == {pd.Timestamp, type(pd.NaT)}


WARDS = Keys("ward", ("A", "B"), other=True, null=True)
AGES = Bins("age", (0, 10, 20, 40), other=True)
COST = Lattice.between(F(-4), F(100), 20)
FEW = Lattice.between(F(0), F(40), 4, F(1))
HOLDS = parse_expression("cost > 3 and age != 20", ["cost", "age"])
RANKS = LatticeCounts("cost", Lattice.between(F(0), F(100), 16))
ADDITIVE = [
    RowCounts(),
    RowCounts("age"),
    RowCounts("cost", Cross((WARDS, AGES))),
    CountWhere(HOLDS),
    Total("cost", COST),
    Total("cost", Lattice.between(F(-(10**9)), F(1), 30), WARDS),
    *(Moments("cost", COST, degree, by) for degree in (1, 2) for by in (None, WARDS)),
    Centred(Moments("cost", COST, 1), (7, 12)),
    Centred(Moments("cost", COST, 2)),
    Products(("cost", "age"), (COST, FEW)),
    RowScores((parse_expression("cost * 2", ["cost"]), parse_expression("age", ["age"])), FEW),
    Tree(AGES, 2, 3),
    Haar(AGES),
    Weighted(AGES, ((3, -1, 2, 0), (1, 1, 1, 5))),
    RANKS,
    LatticeCounts("age", FEW, WARDS),
    LatticeCounts("cost", Grid(F(0), F(1), True, True, 12)),
    UnitSizes((1, 2, 5)),
]

NUMBER = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 20.0, 1e300, -np.inf, np.nan]), st.floats(-10, 110))
ROWS = st.lists(st.tuples(NUMBER, st.one_of(st.none(), st.integers(-5, 60)), st.sampled_from(["A", "B", "C", None])))


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    dtypes = {"cost": "double[pyarrow]", "age": "int64[pyarrow]", "ward": "string[pyarrow]"}
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pd.DataFrame({n: pd.Series(c, dtype=d) for (n, d), c in zip(dtypes.items(), columns, strict=True)})


def chunked(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows, in two chunks each column."""
    return pd.concat([frame.iloc[: len(frame) // 2], frame.iloc[len(frame) // 2 :]], ignore_index=True)
