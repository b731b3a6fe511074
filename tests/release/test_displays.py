"""What notebooks show: nothing runs, nothing is loaded, text of others is escaped, and no colour of its own hides it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from support.browser import installed
from support.frames import fresh, people

import pandas_dp
from pandas_dp.release.html import MARGIN, WIDTH, bar_html, row_charts, scale, scale_words, table_html
from pandas_dp.release.text import legible, wide

DAY = pd.Timestamp("2024-01-01")


def shapes(chart: str) -> dict[str, float]:
    """Numbers of the first rectangle or circle in a chart."""
    return {name: float(number) for name, number in re.findall(r' (x|width|cx)="([0-9.]+)"', chart.split(">", 1)[1])}


def test_bars_begin_at_zero_and_share_one_scale():
    charts = row_charts(pd.Series([50.0, -50.0, 100.0]), None, None, None)
    room = (WIDTH - 2 * MARGIN) / 150
    zero = MARGIN + 50 * room
    for chart, (left, length) in zip(charts, [(zero, 50), (zero - 50 * room, 50), (zero, 100)], strict=True):
        assert shapes(chart)["x"] == pytest.approx(left, abs=0.06)
        assert shapes(chart)["width"] == pytest.approx(length * room, abs=0.06)


def test_each_chart_says_its_scale():
    ends = [pd.Series(part) for part in ([10.0, 44_739.5], [-1.25, 44_000.0], [20.0, 45_449.0])]
    assert scale_words(scale(*ends), ends[0]) == "-1.25 to 45,400"
    spans = pd.Series(pd.to_timedelta([30, 90], unit="min"))
    assert scale_words(scale(spans, None, None), spans) == "0 to 1.5 h"
    days = pd.Series([DAY, DAY + pd.Timedelta(days=40)]).dt.tz_localize("Europe/Berlin")
    assert scale_words(scale(days, None, None), days) == "2024-01-01 to 2024-02-10"
    html = table_html(pd.DataFrame({"value": [1, 2]}), [], [("value", pd.Series([1, 2]), None, None)])
    assert "<th>0 to 2</th>" in html


def test_what_is_not_finite_has_no_bar():
    first, second = row_charts(pd.Series([np.inf, 1.0]), None, None, None)
    assert first == ""
    assert "<rect" in second


def test_ends_are_drawn_where_they_are_known():
    values, lower, upper = (pd.Series(part) for part in ([10, 20], [5.0, np.nan], [15.0, np.nan]))
    first, second = row_charts(values, lower, upper, None)
    assert "<path" in first
    assert "<path" not in second
    assert "<rect" in second


def test_dates_are_points_between_the_earliest_and_the_latest():
    days = pd.Series([DAY, DAY + pd.Timedelta(days=1), DAY + pd.Timedelta(days=2)])
    assert [shapes(chart)["cx"] for chart in row_charts(days, None, None, None)] == [MARGIN, WIDTH / 2, WIDTH - MARGIN]
    spans = pd.Series(pd.to_timedelta([1, 2], unit="h"))
    widths = [shapes(chart)["width"] for chart in row_charts(spans, None, None, None)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.11)


@pytest.mark.parametrize(
    "values", [["a", "b"], [np.nan, np.nan], [0, 0], [1e308, -1e308], [], [pd.NaT, pd.NaT], [True, False]]
)
def test_what_cannot_be_drawn_is_left_out(values):
    series = pd.Series(values)
    assert row_charts(series, None, None, None) is None
    table = series.to_frame("value")
    assert "<svg" not in table_html(table, [], [("value", series, None, None)])


def test_a_long_table_draws_what_it_shows():
    series = pd.Series(np.arange(100_000))
    html = table_html(series.to_frame("value"), [], [("value", series, None, None)])
    assert html.count("<svg") == pd.get_option("display.max_rows") or html.count("<svg") == pd.get_option(
        "display.min_rows"
    )
    assert "\ue000" not in html
    assert len(html) < 50_000


def test_keys_that_look_like_marks_are_text():
    series = pd.Series([1, 2], index=["\ue0000\ue001", "\ue000999\ue001"])
    html = table_html(series.to_frame("value"), [], [("value", series, None, None)])
    assert (
        html.count("<svg") == 3
    )  # the one that stands for a chart of this table shows that chart, the other one nothing
    assert "\ue000" not in html


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects their names."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def displayed(epsilon: float = 1000, **protect) -> dict[str, object]:
    """The objects a notebook shows most."""
    df = people()
    session = df.dp.protect(epsilon=epsilon, name=fresh("<shown>"), **protect)
    ask = df.dp(epsilon=1)
    keys = {"city": ["x", "<b>"], "sex": ["f", "m"]}
    return {
        "number": ask.mean("age", bounds=(0, 100)),
        "choice": ask.mode("city", keys=keys["city"]),
        "histogram": ask.histogram("age", bins=[0, 20, 60, 100]),
        "table": ask.crosstab("city", "sex", keys=keys),
        "preview": df.dp.preview(epsilon=1).sum("age", bounds=(0, 100)),
        "session": session,
        "releases": session.releases,
    }


def test_everything_shown_is_well_formed_and_still():
    for name, shown in displayed().items():
        html, tags = shown._repr_html_(), Tags()
        tags.feed(html.replace("<style scoped>", "").replace("</style>", ""))
        assert not tags.open, name
        assert not tags.seen & {"script", "img", "link", "iframe", "object"}, name
        assert "http" not in html, name
        assert "<b>" not in html.replace("<strong>", ""), name


def test_a_budget_shows_its_bar_and_what_is_left():
    df = people()
    session = df.dp.protect(epsilon=2, name=fresh("card"))
    assert "latest answers" not in session._repr_html_()
    for _ in range(7):
        df.dp(epsilon=0.1, fresh=True).count()
    html = session._repr_html_()
    assert "width: 35.0%" in html
    assert "aria-label='35 % of the epsilon is spent'" in html
    assert "left epsilon=1.3, about 13 more calls at epsilon=0.1<" in html
    assert "counted" not in html  # epsilons alone
    assert "latest answers (of 7)" in html
    assert html.count("count()") == 5
    assert "lost when Python stops" in html
    session.close()
    assert "closed, protects" in session._repr_html_()


def test_a_budget_of_divergences_says_once_how_many_more():
    df = people()
    session = df.dp.protect(epsilon=2, delta=1e-6, name=fresh("card"))
    df.dp(epsilon=0.1).count()
    assert session._repr_html_().count("more call") == 1


def test_a_budget_of_divergences_says_what_its_epsilons_come_to():
    df = people()
    session = df.dp.protect(epsilon=1, delta=1e-6, name=fresh("card"))
    for _ in range(120):
        df.dp(epsilon=0.01, fresh=True).count()
    first, theory = session.spent.split("; counted: ")
    together = first.removeprefix("epsilon=")
    assert session.spent.epsilon <= float(together) < 1
    assert theory.startswith("epsilon=1.2, Renyi divergence about ")
    html = session._repr_html_()
    assert html.index(f"spent {first} of 1<br>left about ") < html.index(f"counted: spent {theory}; left ")


def test_a_session_is_printed_in_lines_with_what_can_be_done_first():
    df = people()
    session = df.dp.protect(epsilon=4, delta=1e-5, name=fresh("lines"))
    df.dp(epsilon=0.5).count()
    head, *lines = repr(session)[:-1].split("\n")
    assert head == f"<pandas_dp session {session.name!r}"
    assert [line[:11].strip() for line in lines] == ["protects", "spent", "left", "counted", "ledger"]
    assert lines[0].endswith("each row (add/remove)")
    assert lines[1:3] == [
        "  spent    epsilon=0.5 of 4",
        "  left     about 7 more calls at epsilon=0.5, and delta=1e-6 for finding keys",
    ]
    assert lines[3].startswith("  counted  spent epsilon=0.5, Renyi divergence about ")
    assert "; left epsilon=3.5 by addition or Renyi divergence about " in lines[3]
    assert lines[4] == "  ledger   not saved; lost when Python stops"
    preview = repr(df.dp.preview(epsilon=0.5).count("age")).split("\n")
    assert (
        preview[2]
        == "  budget   enough; left afterwards: about 6 more calls at epsilon=0.5, and delta=1e-6 for finding keys"
    )
    assert preview[-1].startswith("  counted  epsilon=0.5, Renyi divergence ")
    session.close()
    assert repr(session).startswith(f"<pandas_dp session {session.name!r}, closed\n")
    assert repr(df.dp).startswith("<df.dp")


def test_a_session_without_delta_needs_no_theory():
    df = people()
    session = df.dp.protect(epsilon=4, name=fresh("plain"), unit="age", max_rows=3, neighbors="replace_one")
    df.dp(epsilon=0.5).count()
    assert repr(session).split("\n")[1:] == [
        "  protects all rows of each 'age' (uses at most 3 of them; replace one)",
        "  spent    epsilon=0.5 of 4",
        "  left     epsilon=3.5, about 7 more calls at epsilon=0.5",
        "  ledger   not saved; lost when Python stops>",
    ]


def test_a_budget_in_a_file_names_it_and_a_lost_one_falls_back_to_text(tmp_path):
    df = people()
    session = df.dp.protect(epsilon=2, ledger=tmp_path / "budget.dpledger")
    assert "budget.dpledger" in session._repr_html_()
    assert str(tmp_path) not in session._repr_html_()
    session._ledger.close()
    (tmp_path / "budget.dpledger").write_bytes(b"no ledger")
    assert session._repr_html_() is None
    assert "pandas_dp session" in repr(session)


@pytest.mark.parametrize(("columns", "charts"), [(1, 2), (2, 4), (3, 0)])
def test_of_a_wide_table_the_numbers_alone_are_shown(columns, charts):
    drawn = [(name, pd.Series([1.0, 2.0]), None, None) for name in "abc"[:columns]]
    table = pd.DataFrame({name: values for name, values, *_ in drawn})
    assert table_html(table, [], drawn).count("<svg") == charts


def test_a_wide_table_shows_its_columns_and_says_how_many_it_hides():
    table = pd.DataFrame([range(1000, 1045)], columns=[f"c{i}" for i in range(45)])
    assert all(f"c{i}" in text for i in range(45) for text in (wide(table), table_html(table, [])))
    assert "hidden" not in wide(table) + table_html(table, [])
    for most, hidden in ((6, 39), (7, 39)):
        with pd.option_context("display.max_columns", most):
            for text in (wide(table), table_html(table, [])):
                assert f"{hidden} of 45 columns are hidden" in text
                assert len(re.findall(r"\bc[0-9]+\b", text)) == 45 - hidden
    with pd.option_context("display.max_columns", None):
        assert "hidden" not in wide(table)


def test_bars_stay_in_their_frame():
    assert "width: 0.0%" in bar_html(-1, "x")
    assert "width: 100.0%" in bar_html(7, "x")
    assert "&#x27;" in bar_html(0.5, "it's")


def test_refusals_show_the_lines_of_the_user():
    df = people()
    df.dp.protect(epsilon=1, name=fresh("refusal"))
    with pytest.raises(pandas_dp.PandasDPError) as raised:
        df.dp(epsilon=9).count()
    lines = raised.value._render_traceback_()
    assert lines[-1].startswith("BudgetExceededError: over budget: this asks for epsilon=9")
    assert [line.split(": ", 1)[1] for line in lines[:-1]] == ["df.dp(epsilon=9).count()"]


def columns(values, lower, upper):
    table = pd.DataFrame({"value": values, "lower": lower, "upper": upper})
    return table, [("value", table["value"], table["lower"], table["upper"])]


def test_digits_that_noise_made_are_not_shown():
    table, drawn = columns([41_234.56789, 2.5], [40_000.123, 1.0], [42_469.0, 4.0])
    assert legible(table, drawn).to_numpy().tolist() == [[41234.57, 40000.12, 42469.0], [2.5, 1.0, 4.0]]
    table, drawn = columns([41_234.56], [38_000.12], [44_469.7])
    shown = legible(table, drawn)
    assert shown.to_numpy().tolist() == [[41_230, 38_000, 44_470]]
    assert [str(dtype) for dtype in shown.dtypes] == ["int64"] * 3
    assert table["value"].tolist() == [41_234.56]


def test_counts_beside_means_are_shown_whole_where_their_fractions_are_noise():
    table, drawn = columns([1097.72, 3.92], [1088.13, -5.67], [1107.31, 13.5])
    assert legible(table, drawn, frozenset({"value"})).to_numpy().tolist() == [[1098, 1088, 1108], [4, -6, 14]]
    assert legible(table, drawn).to_numpy().tolist() == [[1097.72, 1088.13, 1107.31], [3.92, -5.67, 13.5]]
    table, drawn = columns([1097.7234], [1097.5234], [1097.9234])  # here they are not
    assert legible(table, drawn, frozenset({"value"})).to_numpy().tolist() == [[1097.723, 1097.523, 1097.923]]


def test_counts_for_ranges_are_shown_whole():
    df = people()
    df.dp.protect(epsilon=1000, name=fresh())
    counts = df.dp(epsilon=0.5).histogram("age", bins=range(0, 101, 5), workload="ranges")
    assert not re.search(r"\d\.\d", repr(counts).partition("\n95 % intervals")[0])


def test_rows_about_different_functions_are_rounded_each_by_itself():
    table, drawn = columns([2152.3744, 50.415060, 11.717773], [2105.39, 49.523974, np.nan], [2199.35, 51.3, np.nan])
    table, rows = table.set_axis(["count", "mean", "min"]), ["count", "mean", "min"]
    drawn = [(drawn[0][0], *(part.set_axis(rows) for part in drawn[0][1:]))]
    shown = legible(table, drawn, frozenset({"count"}), mixed=True)
    assert shown.iloc[:2].to_numpy().tolist() == [["2152", "2105", "2200"], ["50.415", "49.524", "51.300"]]
    assert shown.iloc[2].tolist()[0] == "11.7178"
    assert shown.iloc[2].isna().tolist() == [False, True, True]


def test_durations_are_shown_to_the_digits_that_are_known():
    spans = [pd.to_timedelta([x], unit="s") for x in (17_416.870557, 17_116.123456, 17_716.654321)]
    table, drawn = columns(*spans)
    assert legible(table, drawn).iloc[0].tolist() == [pd.Timedelta(seconds=x) for x in (17_417, 17_116, 17_717)]


def test_what_agg_and_describe_count_is_shown_whole():
    df = people()
    df.dp.protect(epsilon=1000, name=fresh())
    ask = df.dp(epsilon=1)
    groups = ask.groupby("sex", keys=["f", "m"])["age"].agg(["count", "mean"], bounds=(0, 100))
    assert not (groups.value["count"] % 1 == 0).all()  # a sum of two noisy integers over the cells of a lattice
    shown = groups._legible(groups.interval())
    assert str(shown["count", "value"].dtype) == "int64"
    assert (shown["count", "value"] - groups.value["count"]).abs().max() <= 0.5
    summary = ask.describe("age", bounds=(0, 100))
    assert str(round(summary.value["count"])) in repr(summary)
    assert str(summary.value["count"]) not in repr(summary)
    assert "<svg" not in summary._repr_html_()  # one scale for counts and means


@pytest.mark.parametrize(
    ("values", "lower", "upper"),
    [
        ([1], [0], [2]),
        ([1.23456], [np.nan], [2.0]),
        ([1e18], [1e17], [2e18]),
        ([1.23456], [1.23456], [1.23456]),
        ([], [], []),
    ],
)
def test_other_tables_are_shown_as_they_are(values, lower, upper):
    table, drawn = columns(values, lower, upper)
    pd.testing.assert_frame_equal(legible(table, drawn), table)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    return installed(tmp_path_factory.mktemp("browser") / "work")


@pytest.mark.slow
def test_both_themes_show_the_same_and_nothing_is_cut(browser, tmp_path):
    """Text takes the colour of the page: what is dark on white is light on black, at the same places."""
    page = tmp_path / "shown.html"
    dark = "@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }"
    parts = "".join(f"<section>{shown._repr_html_() or repr(shown)}</section>" for shown in displayed().values())
    page.write_text(f"<meta charset=utf-8><title>shown</title><style>{dark}</style>{parts}", encoding="utf-8")
    pictures = [
        browser.picture(page, dark=theme, width=900, height=1500).astype(int).mean(axis=2) for theme in (False, True)
    ]
    inked = [np.abs(picture - np.median(picture)) > 40 for picture in pictures]
    assert inked[0].mean() > 0.01
    assert (inked[0] != inked[1]).mean() < 0.1 * inked[0].mean()
    document, console = browser.document(page)
    assert console == []
    assert document.count("<svg") >= 5
