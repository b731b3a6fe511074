"""Plots of releases."""

from __future__ import annotations

import builtins
import re
from fractions import Fraction

import pandas as pd
import pytest

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.several import Columns
from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import Kind
from tests.support.frames import fresh
from tests.support.releases import (
    EXAMPLES,
    NOISE,
    RANKS,
    a_date,
    a_frame,
    a_series,
    an_int,
    release,
)


@pytest.fixture
def figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def drawn(ax) -> list[tuple[float, float]]:
    """Lower and upper ends of the error bars, after the figure was rendered."""
    ax.figure.canvas.draw()
    segments = [line for collection in ax.collections for line in collection.get_segments()]
    return [(line[0][1], line[1][1]) for line in segments]


def test_plot_of_a_series(figures):
    ax = a_series().plot()
    assert [bar.get_height() for bar in ax.patches] == [10, 20, 30]
    assert drawn(ax) == [(-140, 160), (-130, 170), (-120, 180)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ward", "n")
    assert "epsilon 0.2" in ax.get_title()
    assert drawn(a_series().plot(level=0.5))[0] == (-25, 45)


def test_plot_into_given_axes(figures):
    _, axes = figures.subplots(1, 2)
    assert a_series().plot(axes[1]) is axes[1]
    assert not axes[0].patches


def test_plot_of_scalars(figures):
    ax = an_int().plot()
    assert drawn(ax) == [(48063, 48363)]
    assert ax.lines[0].get_ydata().tolist() == [48213]
    assert drawn(release(1.5).plot()) == []
    assert len(drawn(a_date().plot())) == 1
    ax = EXAMPLES["duration"]().plot()
    assert ax.lines[0].get_ydata().tolist() == [1.5]
    assert "(h)" in ax.get_ylabel()


def groups():
    """Columns of three units, one without intervals."""
    table = pd.DataFrame({"n": [300, 200], "cost": [1.5, 2.5], "days": [0.5, 1.5]}, index=["a", "b"])
    error = Columns((("n", Additive(NOISE)), ("cost", Additive(NOISE, Fraction(1, 1000))), ("days", RANKS)))
    return release(table, error, notes=("a note", Caution("beware of $x_")))


def test_each_column_of_a_table_has_a_panel(figures):
    axes = groups().plot()
    assert [ax.get_ylabel() for ax in axes] == ["n", "cost", "days"]
    assert [[bar.get_height() for bar in ax.patches] for ax in axes] == [[300, 200], [1.5, 2.5], [0.5, 1.5]]
    assert drawn(axes[0]) == [(150, 450), (50, 350)]
    assert sum(drawn(axes[1]), ()) == pytest.approx((1.35, 1.65, 2.35, 2.65))
    assert not any(len(line) for drawing in axes[2].collections for line in drawing.get_segments())  # none is known
    assert len({ax.get_ylim() for ax in axes}) == 3
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert [label.get_text() for label in axes[2].get_xticklabels()] == ["a", "b"]
    assert [bool(ax.get_title()) for ax in axes] == [True, False, False]
    assert "epsilon 0.2" in axes[0].get_title()


def test_what_would_mislead_stands_below_a_plot(figures):
    axes = groups().plot()
    axes[0].figure.canvas.draw()
    assert [len(ax.texts) for ax in axes] == [0, 0, 1]
    (told,) = axes[2].texts
    assert told.get_text() == "beware of \\$x_\nhatched or hollow: the error is not known"
    below, figure = told.get_window_extent(), axes[0].figure.bbox
    assert 0 <= below.y0 < below.y1 <= min(t.get_window_extent().y0 for t in axes[2].get_xticklabels())
    assert 0 <= below.x0 < below.x1 <= figure.width
    assert [text.get_text() for text in an_int_with_caution().plot().texts] == ["beware"]


def an_int_with_caution():
    return release(5, Additive(NOISE), notes=(Caution("beware"),))


def test_plot_of_a_chosen_column(figures):
    _, (left, right) = figures.subplots(1, 2)
    assert groups().plot(y="cost", ax=right) is right
    assert [bar.get_height() for bar in right.patches] == [1.5, 2.5]
    assert len(drawn(right)) == 2
    assert not left.patches
    assert [ax.get_ylabel() for ax in groups().plot(y=["days", "n"])] == ["days", "n"]
    pairs = release(
        pd.DataFrame(
            [[1, 2, 3]],
            columns=pd.MultiIndex.from_product([["x"], ["n", "m"]]).append(pd.MultiIndex.from_tuples([("y", "n")])),
        ),
        Additive(NOISE),
    )
    assert [ax.get_ylabel() for ax in pairs.plot(y="x")] == ["x, n", "x, m"]
    assert pairs.plot(y=("y", "n")).get_ylabel() == "y, n"


def test_plot_of_a_table_into_given_axes(figures):
    _, axes = figures.subplots(1, 3)
    assert list(groups().plot(ax=axes)) == list(axes)
    assert [len(ax.patches) for ax in axes] == [2, 2, 2]
    for given in (axes[0], axes[:2], ["x", "y", "z"]):
        with pytest.raises(ArgumentTypeError, match=r"\.plot\(y='n', ax=ax\).*an array of 3 axes"):
            groups().plot(ax=given)


def test_plot_refuses_columns_that_are_not_there_and_too_many(figures):
    with pytest.raises(ArgumentValueError, match=r"\.plot\(y='n'\): 'n', 'cost', 'days'; did you mean 'cost'"):
        groups().plot(y="costs")
    with pytest.raises(ArgumentTypeError, match=r"\.plot\(y='n'\)"):
        a_series().plot("n")
    with pytest.raises(ArgumentValueError, match=r"\.plot\(\)$"):
        a_series().plot(y="n")
    with pytest.raises(ArgumentValueError, match=r"20 columns at once: \.plot\(y='0'\)"):
        release(pd.DataFrame([range(21)]), Additive(NOISE)).plot()


def test_plot_of_a_table_and_of_dates(figures):
    assert [len(ax.patches) for ax in a_frame().plot()] == [2, 2]
    days = pd.Series(pd.to_datetime(["2013-01-31", "2013-02-28"]).tz_localize("Europe/Berlin"))
    error = Additive(NOISE, Fraction(10**9 * 3600), Kind("datetime", "Europe/Berlin"))
    assert len(drawn(release(days, error).plot())) == 2
    assert len(release(pd.Series([1.5, 2.5]), RANKS).plot().patches) == 2


def test_plot_takes_keys_literally(figures):
    keys = ["$x_", "a$b$", "$\\frac{$", "_hidden"]
    ax = release(pd.Series([1, 2, 3, 4], index=keys, name="$n^"), Additive(NOISE)).plot()
    assert len(drawn(ax)) == 4  # rendering would fail on a broken formula


def test_plot_of_many_bars_labels_some(figures):
    ax = release(pd.Series(range(500)), Additive(NOISE)).plot()
    assert len(ax.get_xticks()) <= 30
    assert len(drawn(ax)) == 500


@pytest.mark.parametrize("make", [EXAMPLES["text"], EXAMPLES["nothing"], lambda: release(pd.Series(["x"]))])
def test_plot_refuses_text(make):
    with pytest.raises(ArgumentTypeError, match=r"\.table\(\)"):
        make().plot()


def test_plot_without_matplotlib_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'pandas-dp\[plot\]'") as caught:
        an_int().plot()
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_a_long_title_is_wrapped_to_the_axes(figures, columns):
    _, axes = figures.subplots(1, columns, squeeze=False)
    ax = axes[0][0]
    a_series(spent="epsilon=0.1, delta=0.0000001", assumes="blocks of whole units, none of which is in two").plot(ax)
    ax.figure.canvas.draw()
    title, room = ax.title.get_window_extent(), ax.get_window_extent()
    assert ax.get_title().count("\n") >= columns
    assert title.width <= room.width
    assert columns > 1 or title.y1 <= ax.figure.bbox.height


def test_a_long_name_is_wrapped_to_the_axes(figures):
    series = pd.Series(
        [1, 2], index=["a", "b"], name="a name that is much longer than the axis of the values is high " * 2
    )
    ax = release(series, Additive(NOISE)).plot()
    ax.figure.canvas.draw()
    assert ax.yaxis.label.get_window_extent().height <= ax.get_window_extent().height


def test_plot_of_an_ecdf_is_steps_over_its_edges(figures):
    df = pd.DataFrame({"age": [10, 30, 50] * 1000})
    df.dp.protect(epsilon=1000, name=fresh())
    ax = df.dp(epsilon=100).ecdf("age", bins=[0, 20, 40, 60]).plot()
    (line,) = ax.get_lines()
    assert line.get_xdata().tolist() == [0, 20, 40, 60]
    assert line.get_ydata() == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=0.01)
    assert line.get_drawstyle() == "steps-post"
    assert len(ax.collections) == 1  # the band
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "ecdf")


def summed_up(ask, **terms):
    df = pd.DataFrame({"age": [10, 20, 60] * 1000, "pay": [1.0, 2.0, 6.0] * 1000})
    df.dp.protect(epsilon=10_000, name=fresh(), **terms)
    return ask(df.dp(epsilon=1000), {"age": (0, 100), "pay": (0, 10)})


def panels(axes) -> list[tuple[str, list[str]]]:
    """Name and labels of each panel, after the figure was rendered."""
    axes[0].figure.canvas.draw()
    return [(ax.get_ylabel(), [label.get_text() for label in ax.get_xticklabels()]) for ax in axes]


REST = ["mean", "std", "min", "25%", "50%", "75%", "max"]
UNITS = {
    "describe": (
        lambda d, b: d.describe("age", bounds=b["age"]),
        [("age (rows)", ["count"]), ("age", REST)],
    ),
    "describe of two": (
        lambda d, b: d.describe(["age", "pay"], bounds=b),
        [("age (rows)", ["count"]), ("age", REST), ("pay (rows)", ["count"]), ("pay", REST)],
    ),
    "agg": (
        lambda d, b: d.agg({"age": ["mean", "count", "sum", "std"], "pay": ["median", "var", "nunique"]}, bounds=b),
        [
            ("age", ["mean", "std"]),
            ("age (rows)", ["count"]),
            ("age", ["sum"]),
            ("pay", ["median"]),
            ("pay", ["var"]),
            ("pay", ["nunique"]),
        ],
    ),
    "one function a column": (
        lambda d, b: d.agg({"age": "mean", "pay": "var"}, bounds=b),
        [("value", ["age"]), ("value", ["pay"])],
    ),
    "regression": (
        lambda d, b: d.linear_regression("pay", ["age"], bounds=b),
        [("pay", ["intercept"]), ("pay", ["age"])],
    ),
    "several numbers": (
        lambda d, b: d.sample_and_aggregate(lambda t: (1.0, 50.0), bounds={"a": (0, 2), "b": (0, 100)}, blocks=50),
        [("value", ["a"]), ("value", ["b"])],
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", UNITS)
def test_each_unit_has_a_panel(figures, name):
    ask, wanted = UNITS[name]
    answer = summed_up(ask)
    axes = answer.plot()
    assert panels(axes) == wanted
    assert len({ax.get_xlim() for ax in axes}) == 1  # bars of one width
    assert all(len(ax.patches) == len(labels) for ax, (_, labels) in zip(axes, wanted, strict=True))
    _, given = figures.subplots(1, len(wanted) + 1)
    assert list(answer.plot(ax=given[1:])) == list(given[1:])
    with pytest.raises(ArgumentTypeError, match=f"an array of {len(wanted)} axes"):
        answer.plot(ax=given)


def test_a_column_of_several_units_can_be_chosen(figures):
    answer = summed_up(UNITS["agg"][0])
    assert panels(answer.plot(y="pay")) == UNITS["agg"][1][3:]
    one = summed_up(lambda d, b: d.agg({"age": ["mean", "std"], "pay": ["mean"]}, bounds=b))
    assert one.plot(y="age").get_ylabel() == "age"


def test_the_title_of_a_number_does_not_say_each(figures):
    ax = an_int().plot()
    assert ax.get_title().startswith("95 % interval, epsilon")
    assert not len(ax.get_xticks())
    number = summed_up(lambda d, b: d.median("age", bounds=b["age"]))
    assert number.plot().get_title().startswith("within 1 row of the true median")


def test_whole_numbers_of_rows_are_read_as_such(figures):
    ax = summed_up(lambda d, b: d.rows_per_unit(limit=5), unit="age", max_rows=1).plot()
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "4 to 5", "more than 5"]


def crosstab(**more):
    df = pd.DataFrame({"state": ["a", "a", "b", "b"] * 1000, "sex": ["f", "m", "f", "m"] * 1000})
    df.dp.protect(epsilon=1000, name=fresh())
    keys = {"state": ["a", "b"], "sex": ["f", "m"]}
    return df.dp(epsilon=100).crosstab("state", "sex", keys=keys, **more)


def test_plot_of_a_crosstab_is_a_heat_map_with_its_numbers(figures):
    ax = crosstab().plot()
    (image,) = ax.get_images()
    assert image.get_array().shape == (2, 2)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["f", "m"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sex", "state")
    assert all(re.fullmatch(r"(999|1,00\d)\n± \d", text.get_text()) for text in ax.texts)  # counts are whole
    assert len(ax.figure.axes) == 1  # the numbers say what the colours mean
    ax.figure.canvas.draw()
    assert "\n" not in ax.get_title()
    assert len(ax.texts) == 4
    assert "epsilon 100" in ax.get_title()


def test_sums_do_not_rule_the_colours_of_a_heat_map(figures):
    (image,) = crosstab(margins=True).plot().get_images()
    assert image.get_array().shape == (3, 3)
    assert image.norm.vmax < 1500
    (shares,) = crosstab(normalize="index").plot().get_images()
    assert shares.norm.vmax < 1


def test_a_large_heat_map_has_no_numbers(figures):
    df = pd.DataFrame({"a": range(100), "b": range(100)})
    df.dp.protect(epsilon=1000, name=fresh())
    wide = df.dp(epsilon=100).crosstab("a", "b", keys={"a": list(range(20)), "b": list(range(20))})
    ax = wide.plot()
    assert not ax.texts
    assert len(ax.figure.axes) == 2  # the scale of the colours


@pytest.mark.parametrize(
    ("terms", "prices", "amounts"),
    [
        ({"epsilon": 2}, [0.5, 0.25, 1], [0, 0.5, 0.75, 1.75]),
        ({"epsilon": 2, "plan": {0.1: 5}, "delta": 1e-6}, [0.1, 0.1], None),
        ({"epsilon": 2, "delta": 1e-6}, [0.1] * 5, None),
        ({"epsilon": 2, "delta": 1e-6, "accountant": "zcdp"}, [0.1] * 5, None),
    ],
)
def test_plot_of_a_budget_says_what_spent_says(figures, terms, prices, amounts):
    df = pd.DataFrame({"age": range(100)})
    session = df.dp.protect(name=fresh(), **terms)
    said = [0.0]
    for price in prices:
        df.dp(epsilon=price, fresh=True).count()
        said.append(float(session.spent.epsilon))
    spent, total = session.plot().get_lines()
    assert spent.get_ydata() == pytest.approx(said if amounts is None else amounts, abs=1e-9)
    assert set(total.get_ydata()) == {2}


def test_plot_of_a_budget_that_got_a_delta_later_counts_all_of_it(figures):
    df = pd.DataFrame({"age": range(100)})
    session = df.dp.protect(name=fresh(), epsilon=2)
    for _ in range(3):
        df.dp(epsilon=0.5, fresh=True).count()
    session.extend(to=3, to_delta=1e-6, reason="Gaussian noise is wanted")
    df.dp(rho=0.001).count()
    spent, _ = session.plot().get_lines()
    assert spent.get_ydata()[-1] == pytest.approx(float(session.spent.epsilon), abs=1e-9)


def test_plot_of_a_long_budget_is_thin(figures):
    from pandas_dp.books.views import MOST_POINTS

    df = pd.DataFrame({"age": range(100)})
    session = df.dp.protect(name=fresh(), epsilon=2)
    for _ in range(MOST_POINTS + 10):
        df.dp(epsilon=0.001, fresh=True).count()
    spent, _ = session.plot().get_lines()
    assert MOST_POINTS / 2 <= len(spent.get_xdata()) <= MOST_POINTS + 2
    assert spent.get_ydata()[-1] == pytest.approx(float(session.spent.epsilon))
