"""A function of blocks that takes the protected table for its block gave exact numbers at no price: ``df`` for ``d``."""

from __future__ import annotations

import collections
import contextvars
import functools
import itertools
import logging
import operator
import sys
import threading
import time
import types
import weakref

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp import ArgumentTypeError
from pandas_dp.questions.reached import refuse_protected
from tests.support.frames import fresh, refused

PUBLIC = pd.DataFrame({"pay": [1.0, 2.0]})


def table() -> pd.DataFrame:
    frame = pd.DataFrame({"pay": [50.0] * 400, "g": ["a", "b"] * 200})
    frame.dp.protect(epsilon=100, name=fresh())
    return frame


df = table()
pay = df["pay"]
made = df.assign(more=1)
steps = df.dp.query("pay > 10")
listed, by_name = [PUBLIC, df], {"one": df}
priced = df.dp(epsilon=1)


def helper(block):
    return float(df["pay"].max())


def deeper(block):
    return helper(block)


def with_default(block, other=df):
    return float(other["pay"].max())


def with_keyword(block, *, other=pay):
    return float(other.max())


def of_a_table(other, block):
    return float(other["pay"].max())


class Model:
    def __init__(self, other):
        self.other = other

    def predict(self, block):
        return float(self.other["pay"].max())

    def __call__(self, block):
        return self.predict(block)


class OfGlobal:
    def __call__(self, block):
        return float(df["pay"].max())


@functools.lru_cache
def remembered(block):
    return float(df["pay"].max())


@functools.singledispatch
def dispatched(block):
    """What its name leads to is code of another module, which holds it."""
    return float(df["pay"].max())


def closed_over(other):
    def largest(block):
        return float(other["pay"].max())

    return largest


class OfItsClass:
    """Holds the table for all its instances, and methods that use one another."""

    data = df

    def own(self, block):
        return float(self.data["pay"].max())

    def top(self):
        return float(df["pay"].max())

    def sibling(self, block):
        return self.top()

    @classmethod
    def of_class(cls, block):
        return float(cls.data["pay"].max())

    @staticmethod
    def static(block):
        return float(df["pay"].max())


class Inherits(OfItsClass):
    data = None


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held

    def own(self, block):
        return float(self.held["pay"].max())


class Config:
    table = df


class Outer:
    class Inner:
        table = df

    parts = ({"one": [Inner]},)


class Pipeline:
    """Holds its steps in a list, and each step what it was made with."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def run(self, block):
        return [step(block) for step in self.steps][-1]


functions = [len, helper]
local = threading.local()
local.table = df
context = contextvars.ContextVar("context", default=df)
other_module = types.ModuleType("other_module")  # of the user's own
other_module.table = df
exec("def top(block):\n    return float(table['pay'].max())", vars(other_module))
sys.modules["other_module"] = other_module


def generated(held):
    while True:
        yield float(held["pay"].max())


@functools.lru_cache
def loaded():
    return made


loaded()


def with_attribute(block):
    return float(with_attribute.table["pay"].max())


with_attribute.table = df


# what leads to it through objects of Python's own, which name nothing
HELD = {
    "its loc": df.loc,
    "its iloc": df.iloc,
    "its groups": df.groupby("g"),
    "a bound method of it": df.max,
    "a bound method of a dict": {"one": df}.get,
    "a bound method of a list": [df].__getitem__,
    "a method wrapper": [df].__len__,
    "a method caller": operator.methodcaller("get", df),
    "a generator": generated(df),
    "an iterator": iter([df]),
    "an endless iterator": itertools.repeat(df),
    "a chain": itertools.chain([PUBLIC], (one for one in [df])),
    "a map": map(operator.itemgetter("pay"), [df]),
    "a cache": loaded,
    "a weak reference": weakref.ref(df),
    "a weak method": weakref.WeakMethod(df.max),
    "a proxy": weakref.proxy(df),
    "a weak mapping": weakref.WeakValueDictionary({"one": df}),
    "a namespace": types.SimpleNamespace(table=df),
    "a view of a dict": types.MappingProxyType({"one": df}),
    "items of a dict": {"one": df}.items(),
    "a queue": collections.deque([df]),
    "a dict of the user's": collections.UserDict(one=df),
    "a named tuple": collections.namedtuple("Named", "table")(df),
    "of the thread": local,
    "of the context": context,
    "a cell": types.CellType(df),
    "a slot": Slotted({"one": [df]}),
    "a ufunc": np.frompyfunc(lambda block: float(df["pay"].max()), 1, 1),
}


WAYS = {
    "a list of functions": lambda block: functions[1](block),
    "a class within a class": lambda block: float(Outer.Inner.table["pay"].max()),
    "objects within an object": Pipeline(len, Pipeline(Model(df).predict).run).run,
    "a class in a list in a dict in a tuple": lambda block: float(Outer.parts[0]["one"][0].table["pay"].max()),
    "a closure within a partial": functools.partial(lambda f, block: f(block), closed_over(df)),
    "a class attribute": OfItsClass().own,
    "a sibling method": OfItsClass().sibling,
    "an inherited sibling": Inherits().sibling,
    "a class method": OfItsClass.of_class,
    "a static method": lambda block: OfItsClass.static(block),
    "a slot": Slotted(df).own,
    "a class that holds settings": lambda block: float(Config.table["pay"].max()),
    "a global": lambda block: float(df["pay"].max()),
    "a column": lambda block: float(pay.max()),
    "what pandas made of it": lambda block: float(made["pay"].max()),
    "what a step made of it": lambda block: float(steps["pay"].max()),
    "in a list": lambda block: float(listed[1]["pay"].max()),
    "in a dict": lambda block: float(by_name["one"]["pay"].max()),
    "a comprehension": lambda block: max(float(df["pay"].max()) for _ in range(2)),
    "a function within": lambda block: (lambda: float(df["pay"].max()))(),
    "a helper": lambda block: helper(block),
    "a helper's helper": deeper,
    "a default": with_default,
    "a default by name": with_keyword,
    "a closure": closed_over(df),
    "a partial": functools.partial(of_a_table, df),
    "a partial by name": functools.partial(of_a_table, other=df),
    "a method": Model(df).predict,
    "an object that is called": Model(df),
    "whose code uses a global": OfGlobal(),
    "a function that remembers": remembered,
    "a helper that another module wrapped": lambda block: dispatched(block),
    "numpy's vectorize": np.vectorize(lambda block: float(df["pay"].max())),
}
QUESTIONS = {
    "one": lambda d, f: d.sample_and_aggregate(f, bounds=(0, 100), blocks=20),
    "groups": lambda d, f: d.groupby("g", keys=["a", "b"]).sample_and_aggregate(f, bounds=(0, 100), blocks=5),
    "votes": lambda d, f: d.sample_and_aggregate(f, keys=["a", "b"], aggregator="vote", blocks=20),
    "preview": lambda d, f: df.dp.preview(epsilon=1).sample_and_aggregate(f, bounds=(0, 100), blocks=20),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_uses_a_protected_table_is_refused(monkeypatch, way):
    with refused(monkeypatch, df, ArgumentTypeError, "besides its argument.*Use the argument alone, lambda block:"):
        QUESTIONS["one"](df.dp(epsilon=1), WAYS[way])


@pytest.mark.parametrize("way", HELD)
def test_whatever_leads_to_the_table_is_found(way):
    held = HELD[way]
    for function in (lambda block: float(len(str(held))), functools.partial(of_a_table, held), Model([held]).predict):
        with pytest.raises(ArgumentTypeError, match="besides its argument"):
            refuse_protected(function, "it")


def test_modules_of_the_users_own_are_looked_through_by_name():
    with pytest.raises(ArgumentTypeError, match=r"'other_module\.table' beside"):
        refuse_protected(lambda block: float(other_module.table["pay"].max()), "it")
    with pytest.raises(ArgumentTypeError, match="'table' beside"):
        refuse_protected(lambda block: other_module.top(block), "it")
    with pytest.raises(ArgumentTypeError, match="'table' beside"):
        refuse_protected(with_attribute, "it")
    refuse_protected(lambda block: float(len(other_module.__name__)), "it")


def test_what_leads_to_no_protected_table_is_none_and_soon_looked_through():
    """Things that lead to much: modules, loggers, running code, a proxy of something gone, an object that says odd things."""

    class Odd:
        __class__ = property(lambda self: 1 / 0)
        __dict__ = property(lambda self: 1 / 0)

        def __getattr__(self, name):
            raise KeyboardInterrupt

    class Looped(collections.UserDict):
        pass

    looped, gone = Looped(), weakref.proxy(Model(PUBLIC))
    looped["self"] = looped
    long = [PUBLIC, *({"one": number} for number in range(100_000))]
    odd = [
        logging.getLogger(),
        np.mean,
        pd.DataFrame.mean,
        len,
        gone,
        weakref.ref(Model(1)),
        Odd(),
        looped,
        sys,
        long,
        pd.NA,
    ]
    odd += [PUBLIC.loc, PUBLIC.groupby("pay"), generated(PUBLIC), sys._getframe(), priced, priced.count, table.__code__]
    began = time.process_time()
    for one in odd:
        refuse_protected(lambda block, one=one: float(one is None), "it")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_that_takes_a_function_refuses_it(monkeypatch, question):
    with refused(monkeypatch, df, ArgumentTypeError, "the protected table or column 'df' beside"):
        QUESTIONS[question](df.dp(epsilon=1), WAYS["a global"])


def test_a_score_is_refused_too(monkeypatch):
    with refused(monkeypatch, df, ArgumentTypeError, "score uses the protected table or column 'df' beside"):
        df.dp(epsilon=1).select([1, 2], score=lambda block, one: float(df["pay"].max()), sensitivity=1)


def test_a_table_whose_mark_is_gone_is_known_as_the_object_that_it_is(monkeypatch):
    bare = table()
    bare.attrs.clear()
    with refused(monkeypatch, df, ArgumentTypeError, "besides its argument"):
        QUESTIONS["one"](df.dp(epsilon=1), lambda block: float(bare["pay"].max()))


def test_other_tables_answers_and_names_of_columns_are_no_fault():
    """A global of the name of a column, an attribute of that name, public tables, releases, and what asks a question."""
    one, answer = table(), table().dp(epsilon=1).groupby("g", keys=["a", "b"])["pay"].mean(bounds=(0, 100))

    def fine(block):
        block = block.assign(made=block.pay * float(answer["a"]) / float(answer["a"]))  # attributes: `pay` is a global
        return float(min(block["made"].mean(), PUBLIC["pay"].sum() * 1000))

    def local(block):
        df = block
        return float(df["pay"].mean())

    ask = one.dp(epsilon=10, fresh=True)
    for function in (fine, local, Model(PUBLIC).predict, functools.partial(of_a_table, PUBLIC), np.mean, "pay".__eq__):
        try:
            ask.sample_and_aggregate(function, bounds=(0, 100), blocks=20)
        except pandas_dp.PandasDPError as error:
            assert "besides its argument" not in str(error), function  # noqa: PT017 - others may be refused as no number
    with pytest.raises(ArgumentTypeError, match="asks a question of its own"):
        ask.sample_and_aggregate(lambda block: float(priced.count()), bounds=(0, 100), blocks=20)


itself: dict[str, object] = {"own": PUBLIC}
itself["self"] = itself


def test_a_dict_that_holds_itself_is_looked_through_once():
    own, ask = table(), dict(itself)
    own.dp(epsilon=50).sample_and_aggregate(lambda block: float(len(itself)), bounds=(0, 100), blocks=20)
    assert own.dp.session.spent.epsilon == 50
    ask["more"] = [ask, df]
    with pytest.raises(ArgumentTypeError, match="besides its argument"):
        own.dp(epsilon=1).sample_and_aggregate(lambda block: float(len(ask)), bounds=(0, 100), blocks=20)


def test_the_exact_maximum_is_not_given_away():
    for last in (50.0, 5000.0):
        frame = pd.DataFrame({"pay": [50.0] * 999 + [last]})
        frame.dp.protect(epsilon=100, name=fresh())
        with pytest.raises(ArgumentTypeError, match="'frame'"):
            frame.dp(epsilon=0.2).sample_and_aggregate(
                lambda d, frame=frame: frame["pay"].max(), bounds=(0, 10_000), blocks=200, aggregator="median"
            )
        assert frame.dp.session.spent == "epsilon=0"
