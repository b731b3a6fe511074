"""Parts of a budget: what they cost, who may spend them, and that a part is no second budget."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, protected, refused

from pandas_dp import query
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Sensitivity
from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    NoSessionError,
    UnverifiedFrameError,
)
from pandas_dp.session import registry
from pandas_dp.session.session import Session


def people(n: int = 3000) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": np.arange(n) % 90,
            "sex": ["F", "M", "F"] * (n // 3),
            "pid": np.arange(n) // 2,
            "ward": np.arange(n) % 4,
        }
    )


def test_an_allotment_is_paid_once_and_spent_apart():
    df = protected(people(), epsilon=3)
    session = df.dp.session
    team = df.dp.allot("team A", epsilon=1)
    assert (session.spent, team.dp.session.left) == ("epsilon=1", "epsilon=1")
    assert abs(team.dp(epsilon=0.5).count() - 3000) < 60
    team.dp.query("age > 40").dp(epsilon=0.25).count()
    assert (session.spent, team.dp.session.left) == ("epsilon=1", "epsilon=0.25")
    with pytest.raises(BudgetExceededError, match=r"epsilon=0\.25 would fit"):
        team.dp(epsilon=0.3).count()
    df.dp(epsilon=2).count()
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=0.01).count()
    team.dp(epsilon=0.25).count()


def test_the_same_allotment_again_is_the_same():
    df = protected(people(), epsilon=3)
    first, again = (df.dp.allot("team A", epsilon=1) for _ in range(2))
    assert first.dp.session is again.dp.session
    first.dp(epsilon=0.75).count()
    assert (df.dp.session.spent, again.dp.session.left) == ("epsilon=1", "epsilon=0.25")
    with pytest.raises(ArgumentValueError, match="epsilon=1, which cannot change"):
        df.dp.allot("team A", epsilon=2)
    with pytest.raises(ArgumentValueError, match="fixed"):
        first.dp.session.extend(to=5, reason="more")
    assert df.dp.session.spent == "epsilon=1"


def test_allotments_across_restarts(tmp_path):
    terms = {"epsilon": 3, "ledger": tmp_path / "books.dpledger", "name": "people"}
    df = people()
    df.dp.protect(**terms)
    df.dp.allot("nightly", epsilon=1).dp(epsilon=0.4).count()
    df.dp.session._ledger.close()
    again = people()
    again.dp.protect(**terms)
    part = again.dp.allot("nightly", epsilon=1)
    assert (again.dp.session.spent, part.dp.session.left) == ("epsilon=1", "epsilon=0.6")
    with pytest.raises(ArgumentTypeError, match="marks parts"):
        people().dp.protect(epsilon=1, ledger=terms["ledger"], name="people::nightly")
    again.dp.session._ledger.verify()


CLOSED = r"^(this session|the session of this frame) is closed; protect"
ON_A_FRAME = {
    "count": lambda frame: frame.dp(epsilon=0.01).count(),
    "column": lambda frame: frame.dp(epsilon=0.01)["age"].mean(bounds=(0, 90)),
    "price of an error": lambda frame: frame.dp(within=30).count(),
    "preview": lambda frame: frame.dp.preview(epsilon=0.01).count(),
    "steps": lambda frame: frame.dp.query("age > 40"),
    "more steps": lambda frame: frame.dp.assign(old=lambda d: d["age"] > 40).dp.fillna({"age": 0}),
    "steps of a price": lambda frame: frame.dp(epsilon=0.01).query("age > 40").count(),
    "steps of a preview": lambda frame: frame.dp.preview(epsilon=0.01).query("age > 40").count(),
    "stream": lambda frame: frame.dp(epsilon=0.01).above_threshold(100),
    "groups": lambda frame: frame.dp(epsilon=0.01).groupby("sex", keys=["F"])["age"].mean(bounds=(0, 90)),
    "allot": lambda frame: frame.dp.allot("later", epsilon=0.01),
    "partition": lambda frame: frame.dp.partition("sex", ["F", "M"], epsilon=0.01),
    "query": lambda frame: query(epsilon=0.01).count()(frame),
    "pipe": lambda frame: frame.dp.pipe(query(epsilon=0.01).count()),
}
ON_A_SESSION = {
    "adopt": lambda session: session.adopt(people(), reason="the same people"),
    "extend": lambda session: session.extend(to=9, reason="more"),
    "join": lambda session: people().dp.protect(session=session),
}


@pytest.mark.parametrize("how", ["close", "another table", "throwaway"])
def test_a_session_that_ends_ends_all_that_was_made_of_it(how):
    """Steps, prices of parts and the card of a part's session went on as if it were open."""
    df = protected(people(), epsilon=3)
    part = df.dp.allot("team A", epsilon=1)
    frames = {
        "whole": df,
        "step": df.dp.query("age > 3"),
        "part": part,
        "step of a part": part.dp.query("age > 3"),
        "part of a part": part.dp.allot("b", epsilon=0.5),
        "partition": df.dp.partition("sex", ["F", "M"], epsilon=1)["F"],
        "made by pandas": part[part["age"] > 3],
    }
    sessions = {name: frame.dp.session for name, frame in frames.items() if hasattr(frame.dp, "session")}
    priced = {name: frame.dp(epsilon=0.01) for name, frame in frames.items()}
    stream, spent = part.dp(epsilon=0.1).above_threshold(100), {name: one.spent for name, one in sessions.items()}
    spent["part"] = spent["step of a part"] = part.dp.session.spent
    (registry.throwaway if how == "throwaway" else Session.close)(df.dp.session)
    if how == "another table":
        protected(people(), epsilon=3)  # which forgets closed sessions but for their ids
    for name, frame in frames.items():
        if how == "throwaway":
            continue  # of made-up tables nothing at all is known afterwards
        for call in (*ON_A_FRAME.values(), lambda frame, name=name: priced[name].count()):
            with pytest.raises(NoSessionError, match=CLOSED):
                call(frame)
        assert not hasattr(frame.dp, "session")
    for session in sessions.values():
        for call in ON_A_SESSION.values():
            with pytest.raises(NoSessionError, match=CLOSED):
                call(session)
        assert "', closed" in repr(session)
    with pytest.raises(NoSessionError, match=CLOSED):
        stream.ask("age > 3")
    assert stream.left == "nothing"
    assert {name: one.spent for name, one in sessions.items()} == spent


def test_a_part_that_is_opened_as_its_session_ends_is_closed():
    df = protected(people(), epsilon=3)
    session, part = df.dp.session, df.dp.allot("a", epsilon=1).dp.session
    session._closed = True  # by another thread, which has not come to the parts yet
    late = Session(session._ledger, part.name, part.unit, whole=session)
    with pytest.raises(NoSessionError, match=CLOSED):
        late.extend(to=2, reason="more")
    session.close()


def test_a_part_ends_alone_and_its_session_goes_on():
    df = protected(people(), epsilon=3)
    part = df.dp.allot("a", epsilon=1)
    inner = part.dp.allot("b", epsilon=0.5)
    part.dp.session.close()
    for frame in (part, inner):
        with pytest.raises(NoSessionError, match=CLOSED):
            frame.dp.query("age > 3")
    assert 2000 < df.dp(epsilon=0.5).count() < 4000
    again = df.dp.allot("a", epsilon=1)
    assert (again.dp.session.left, df.dp.session.spent) == ("epsilon=0.5", "epsilon=1.5")


def test_allotments_within_allotments_and_units():
    df = protected(people(), epsilon=3, delta=1e-6, unit="pid", max_rows=2)
    part = df.dp.allot("a", epsilon=1)
    inner = part.dp.allot("b", epsilon=0.5)
    assert (part.dp.session.left, inner.dp.session.left) == ("epsilon=0.5", "epsilon=0.5")
    assert inner.dp.session.unit == df.dp.session.unit
    assert df.dp.session.spent.startswith("epsilon=1; counted: epsilon=1, Renyi divergence about")
    with pytest.raises(ArgumentValueError, match="unit column"):
        inner.dp.assign(pid=3)


@pytest.mark.parametrize(("relation", "paid"), [("add_remove", 1), ("replace_one", 2)])
def test_a_partition_costs_what_one_part_may_spend(relation, paid):
    df = protected(people(), epsilon=3, neighbors=relation)
    parts = df.dp.partition("sex", ["F", "M", "X"], epsilon=1)
    assert list(parts) == ["F", "M", "X"]
    assert df.dp.session.spent == f"epsilon={paid}"
    for key, rows in (("F", 2000), ("M", 1000), ("X", 0)):
        assert abs(parts[key].dp(epsilon=0.5).count() - rows) < 60
        assert parts[key].dp.session.left == "epsilon=0.5"
        assert parts[key].dp.session.unit.add_remove
    parts["F"].dp(epsilon=0.5).mean("age", bounds=(0, 100))  # a price that may depend on all answers so far
    with pytest.raises(BudgetExceededError):
        parts["F"].dp(epsilon=0.1).count()
    assert df.dp.session.spent == f"epsilon={paid}"
    assert parts["M"].dp.query("age > 30").dp.session.left == "epsilon=0.5"


def test_a_row_that_moves_changes_two_parts():
    """Exact law of two counts at epsilon 1, one more and one less: the largest log ratio is 2, so 1 would be too little."""
    noise = DiscreteLaplace.calibrate(F(1), Sensitivity(1, 1, 1))
    p = math.exp(-1 / float(noise.scale))

    def law(z):
        return (1 - p) / (1 + p) * p ** abs(z)

    ratios = [law(a) * law(b) / (law(a + 1) * law(b - 1)) for a in range(-9, 10) for b in range(-9, 10)]
    assert math.log(max(ratios)) == pytest.approx(2)


def test_partitions_that_are_the_same_and_that_are_not():
    df = protected(people(), epsilon=10)
    session = df.dp.session
    first = df.dp.partition("sex", ["F", "M"], epsilon=1)
    first["F"].dp(epsilon=0.75).count()
    assert df.dp.partition("sex", ["F", "M"], epsilon=1)["F"].dp.session.left == "epsilon=0.25"
    assert session.spent == "epsilon=1"
    df.dp.partition("sex", ["F"], epsilon=1)  # other keys
    assert session.spent == "epsilon=2"
    df.dp.partition("sex", ["F", "M"], epsilon=2)  # another price
    assert session.spent == "epsilon=4"
    moved = df.dp.assign(sex="F")
    moved.dp.partition("sex", ["F", "M"], epsilon=1)  # another column of that name: rows lie in other parts
    assert session.spent == "epsilon=5"
    df.dp.query("age > 30").dp.partition("sex", ["F", "M"], epsilon=1)
    assert session.spent == "epsilon=6"
    other = people()
    other.dp.protect(session=session)
    other.dp.partition("sex", ["F", "M"], epsilon=1)  # another table about the same people
    assert session.spent == "epsilon=7"


def test_columns_of_other_kinds_and_nested_partitions():
    frame = people().assign(ward=lambda d: d["ward"].astype("Int64"), smoker=lambda d: d["age"] > 40)
    df = protected(frame, epsilon=10)
    wards = df.dp.partition("ward", [0, 1, 2, 3], epsilon=2)
    inner = wards[1].dp.partition("smoker", [True, False], epsilon=1)
    assert abs(inner[True].dp(epsilon=1).count() - int(((frame["ward"] == 1) & frame["smoker"]).sum())) < 30
    assert wards[1].dp.session.left == "epsilon=1"
    assert df.dp.session.spent == "epsilon=2"


def test_a_partition_across_restarts(tmp_path):
    terms = {"epsilon": 3, "ledger": tmp_path / "books.dpledger", "name": "people", "table": "people", "version": "1"}
    df = people()
    df.dp.protect(**terms)
    df.dp.partition("sex", ["F", "M"], epsilon=1)["M"].dp(epsilon=0.4).count()
    df.dp.session._ledger.close()
    again = people()
    again.dp.protect(**terms)
    parts = again.dp.partition("sex", ["F", "M"], epsilon=1)
    assert (again.dp.session.spent, parts["M"].dp.session.left) == ("epsilon=1", "epsilon=0.6")
    assert parts["F"].dp.session.left == "epsilon=1"


ASKED = {
    "an allotment": lambda frame: frame.dp.allot("more", epsilon=0.5),
    "a partition": lambda frame: frame.dp.partition("sex", ["F", "M"], epsilon=0.5),
    "a stream": lambda frame: frame.dp(epsilon=0.5).above_threshold(1000),
    "a number": lambda frame: frame.dp(epsilon=0.5).count("age"),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_part_that_is_used_up_proposes_another_part_and_no_larger_total(what):
    part = protected(people(), epsilon=3).dp.allot("team A", epsilon=1)
    part.dp(epsilon=1).count()
    with pytest.raises(BudgetExceededError, match=r"df\.dp\.allot\('more', epsilon=1\)") as caught:
        ASKED[what](part)
    assert "extend" not in str(caught.value)


def test_refusals(monkeypatch):
    df = protected(
        people().assign(when=pd.Timestamp("2020-01-01"), thing=pd.Series([None] * 3000, dtype=object)), epsilon=3
    )

    def refuse(ask, match, error=ArgumentTypeError):
        with refused(monkeypatch, df, error, match):
            ask()

    for name in (3, "", "a::b", None):
        refuse(lambda name=name: df.dp.allot(name, epsilon=1), "allot\\('nightly'")
    refuse(lambda: df.dp.allot("sex#0", epsilon=1), "and '#'")  # it would be a part of a partition
    refuse(lambda: df.dp.allot("a", epsilon=4), "epsilon=3 would fit", BudgetExceededError)
    refuse(lambda: df.dp.allot("a", epsilon=-1), "epsilon", ArgumentValueError)
    refuse(lambda: df.dp.partition("sex", ["F"], epsilon=4), "epsilon=3 would fit", BudgetExceededError)
    refuse(lambda: df.dp.partition("sex", epsilon=1), "public list of keys")
    refuse(lambda: df.dp.partition("sex", "F", epsilon=1), "list")
    refuse(lambda: df.dp.partition("city", ["F"], epsilon=1), "name a column")
    refuse(lambda: df.dp.partition("when", ["2020-01-01"], epsilon=1), "text, bools or numbers")
    refuse(lambda: df.dp.partition("thing", ["a"], epsilon=1), "astype\\('str'\\)")
    kinds = protected(people().assign(sex=lambda d: d["sex"].astype("category"), real=1.5), epsilon=3)
    with refused(monkeypatch, kinds, ArgumentTypeError, "astype"):
        kinds.dp.partition("sex", ["F"], epsilon=1)
    for keys in ([2**53, 2**53 + 1], [1e300], [float(2**54)]):  # a float would equal both of the first
        with refused(monkeypatch, kinds, ArgumentValueError, "2\\*\\*53"):
            kinds.dp.partition("real", keys, epsilon=1)
    for column, keys in (("real", [True, 2]), ("real", [F(1, 3)]), ("pid", [1j])):
        with refused(monkeypatch, kinds, ArgumentTypeError, "like the column"):
            kinds.dp.partition(column, keys, epsilon=1)
    refuse(lambda: df.dp.partition("sex", [1, 2], epsilon=1), "like the column")
    refuse(lambda: df.dp.partition("sex", ["F", "F"], epsilon=1), "keys", ArgumentValueError)
    owned = protected(people(), epsilon=3, unit="pid", max_rows=2, name=fresh())
    with refused(monkeypatch, owned, ArgumentValueError, "groupby\\('sex'"):
        owned.dp.partition("sex", ["F"], epsilon=1)
    with pytest.raises(UnverifiedFrameError):
        df.copy().dp.allot("a", epsilon=1)


class Liar(str):
    """Text that says it equals everything."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (np.array([2**53 - 1, 2**53, 2**53 + 1, 1, 0]), [2**53, 2**53 - 1, 1.0, 0]),
        (np.array([0.1, np.float32(0.1), 1, -0.0, np.nan, np.inf]), [0.1, float(np.float32(0.1)), 0, 1]),
        (np.array([0.1, 0.2], dtype=np.float32), [0.1, float(np.float32(0.1)), 0.2]),
        (pd.array([True, None, False], dtype="boolean"), [True, False]),
        (pd.array([Liar("a"), "b"], dtype="string[python]"), ["a", "b", "c"]),
        (pd.array(["a", "a\0", "a\0\0", ""], dtype="string[python]"), ["a", "a\0", "a\0\0", "", "\0"]),
        (pd.array(["a", "A", "a ", "\u00e9", "e\u0301", None], dtype="str"), ["a", "A", "a ", "\u00e9", "e\u0301"]),
    ],
)
def test_no_row_is_in_two_parts(values, keys):
    df = protected(pd.DataFrame({"x": values, "row": np.arange(len(values))}), epsilon=3)
    parts = df.dp.partition("x", keys, epsilon=1)
    rows = [row for part in parts.values() for row in part["row"]]
    assert len(rows) == len(set(rows))


def test_a_part_answers_for_protected_columns_alone():
    df = protected(people(), epsilon=3)
    df["total"] = df["age"].sum()  # was never protected: every row tells of all others
    part = df.dp.allot("a", epsilon=1)
    assert list(part) == ["age", "sex", "pid", "ward"]
    with pytest.raises(ArgumentValueError, match="total"):
        part.dp(epsilon=0.5).mean("total", bounds=(0, 1e6))


def test_a_part_takes_no_other_table(monkeypatch):
    """Rows of the whole table could else be asked about in every part."""
    df = protected(people(), epsilon=3)
    for part in (df.dp.partition("sex", ["F", "M"], epsilon=1)["M"], df.dp.allot("a", epsilon=1)):
        for inner in (part, part.dp.allot("b", epsilon=0.5)):
            session, other = inner.dp.session, people()
            with refused(monkeypatch, inner, ArgumentValueError, "cannot take another table"):
                other.dp.protect(session=session)
            with refused(monkeypatch, inner, ArgumentValueError, "cannot take another table"):
                session.adopt(other, reason="the same people")


@pytest.mark.parametrize("equal", [True, False])
def test_another_object_shares_no_part(equal):
    """Were equal ones taken for the same table, 1 / -0.0 would still not be 1 / 0.0: rows would lie in another part."""
    name, spent = fresh(), []
    for zero in (0.0, 0.0 if equal else -0.0):
        df = pd.DataFrame({"x": [zero] * 9})
        df.dp.protect(epsilon=5, name=name, table=f"t{len(spent)}")
        df.dp.assign(up=lambda d: 1 / d["x"] > 0).dp.partition("up", [True, False], epsilon=1)
        spent.append(df.dp.session.spent)
    assert spent == ["epsilon=1", "epsilon=2"]


def test_what_a_crash_left_paid_is_not_paid_again(monkeypatch):
    df = protected(people(), epsilon=3)

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pandas_dp.session.registry.part_of", crash)
        with pytest.raises(KeyboardInterrupt):
            df.dp.allot("a", epsilon=1)
    assert df.dp.session.spent == "epsilon=1"
    assert df.dp.allot("a", epsilon=1).dp.session.left == "epsilon=1"
    assert df.dp.session.spent == "epsilon=1"


def test_a_version_is_the_content_first_protected_under_it():
    """Two contents would share parts, and a row could lie in one part here and in the other there."""
    terms = {"epsilon": 10**6, "name": fresh(), "table": "people", "version": "1"}
    df, other = people(), people()
    other["sex"] = "X"
    session = df.dp.protect(**terms)
    df.dp.partition("sex", ["F", "M"], epsilon=1)
    other.dp.protect(**terms)  # nothing is compared: it stands for the first one
    assert other.dp.partition("sex", ["F", "M"], epsilon=1)["M"].dp(epsilon=1).count() > 1
    assert session.spent == "epsilon=1"
    first = df["sex"].value_counts()
    assert other.dp(epsilon=10**5).value_counts("sex", keys=["M", "X"], sort=False).tolist() == [first["M"], 0]
    assert "the rows first protected under that" in " ".join(other.dp(epsilon=1).count().notes)
    other.dp.protect(**terms | {"version": "2"})
    other.dp.partition("sex", ["F", "M"], epsilon=1)
    assert other.dp(epsilon=10**5).value_counts("sex", keys=["M", "X"], sort=False).tolist() == [0, len(other)]
    for odd in (people().drop(columns="age"), people().astype({"age": "str"})):
        with pytest.raises(ArgumentValueError, match="has other columns: 'age' is of kind number there"):
            odd.dp.protect(**terms)
    wide = people().astype({"age": "float64"})  # one missing value does that
    wide.dp.protect(**terms)
    assert wide.dp(epsilon=10**5).count() == len(wide)


def test_rows_that_were_let_go_share_no_part_with_others():
    terms = {"epsilon": 100, "name": fresh(), "table": "people"}
    df = people()
    session = df.dp.protect(**terms, version="1")
    df.dp.partition("sex", ["F", "M"], epsilon=1)
    answer = df.dp(epsilon=1).count()
    for version in range(2, 10):  # after so many others its rows are not held any more
        people().dp.protect(**terms, version=str(version))
    again = people()
    again.dp.protect(**terms, version="1")
    assert again.dp(epsilon=1).count() == answer  # a stored answer is a function of what was typed
    again.dp.partition("sex", ["F", "M"], epsilon=1)
    assert session.spent == "epsilon=3"


@pytest.mark.parametrize(("neighbors", "charged"), [("add_remove", "epsilon=1.5"), ("replace_one", "epsilon=3")])
def test_parts_that_ran_dry_get_another_set_beside_the_first(neighbors, charged):
    df = protected(people(), epsilon=4, neighbors=neighbors)
    for part in df.dp.partition("sex", ["F", "M"], epsilon=1).values():
        part.dp(epsilon=1).count()
    for part in df.dp.partition("sex", ["F", "M"], epsilon=0.5).values():
        part.dp(epsilon=0.5).count("age")
        with pytest.raises(BudgetExceededError):
            part.dp(epsilon=0.01).count("age")
    assert df.dp.session.spent == charged
