"""What pages include and nobody could keep in step by hand: figures and the help texts of the command line.

``python docs/figures.py`` draws ``_static/answer.svg`` anew, the picture of an answer that the README shows.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pandas_dp import accounting, teaching
from pandas_dp.commands import ledger, query, run
from pandas_dp.datasets import load_adult, load_flights

BLUE, ORANGE, GREY, GREEN = "#2a6fb0", "#d9730d", "#8a8f98", "#3a8f5c"
STYLE = {
    "svg.hashsalt": "pandas_dp",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
INKS = {"": "#222832", "-dark": "#ced6dd"}  # of text and lines, by the ending of the file's name
INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")


def draw(folder: Path) -> None:
    """Write everything into a folder; a page names its file as ``../_generated/NAME.svg``, see `two_themes`."""
    folder.mkdir(exist_ok=True)
    help_texts(folder)
    for ending, ink in INKS.items():
        with plt.rc_context(STYLE | dict.fromkeys(INKED, ink)):
            for figure in (
                laplace,
                gaussian,
                selection,
                smooth,
                blocks,
                keys,
                quantiles,
                bounding,
                budget,
                intervals,
                delays,
                tilt,
                admissible,
                models,
                composition,
                candidates,
            ):
                save(figure, folder / f"{figure.__name__}{ending}.svg")


def save(figure: Callable[[Any], None], path: Path) -> None:
    """Draw one figure, the same bytes each time."""
    shape, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    figure(axes)
    shape.savefig(path, metadata={"Date": None})
    plt.close(shape)


def two_themes(app: object, page: str, source: list[str]) -> None:
    """Show each drawing of a page's text in the ink of the reader's theme: Sphinx' event ``source-read``."""
    both = r"![\1](\2.svg){.only-light}\n![\1](\2-dark.svg){.only-dark}"
    source[0] = re.sub(r"!\[([^\]]*)\]\((\S*_(?:generated|static)/\w+)\.svg\)", both, source[0])


def answer(folder: Path) -> None:
    """One answer as a terminal prints it, and its plot; drawn by hand, since its noise is new each time."""
    df, levels = load_adult(), ["HS-grad", "Bachelors", "Masters", "Doctorate"]
    df.dp.protect(epsilon=3, name="answer")
    hours = df.dp(epsilon=0.1).groupby("education", keys=levels)["hours_per_week"].mean(bounds=(0, 100))
    for ending, ink in INKS.items():
        with plt.rc_context(STYLE | dict.fromkeys(INKED, ink)):
            shape, (left, right) = plt.subplots(ncols=2, figsize=(9, 2.6), width_ratios=(1, 0.9), layout="constrained")
            left.set_axis_off()
            left.text(0, 0.98, repr(hours).replace(", discrete", ",\ndiscrete"), family="monospace", size=11, va="top")
            hours.plot(ax=right)
            right.set(title="hours of work in a week, epsilon 0.1", ylabel="", xlabel="")
            shape.savefig(folder / f"answer{ending}.svg", metadata={"Date": None})
            plt.close(shape)


def intervals(axes: Any) -> None:
    """Both intervals of a mean age at epsilon 0.5 of three tables, with bounds of 0 and 100 and a deviation of 13.7."""
    for place, rows in enumerate((200, 1000, 5000)):
        noise = 2.06 / 0.5 * 100 / rows
        both = math.hypot(noise, 1.96 * 13.7 / math.sqrt(rows))
        more = {"label": "noise"} if place == 0 else {}
        axes.plot([-both, both], [place, place], color=GREY, lw=2, label="population" if place == 0 else None)
        axes.plot([-noise, noise], [place, place], color=BLUE, lw=7, solid_capstyle="butt", **more)
    axes.set_yticks(range(3), ["200 rows", "1,000 rows", "5,000 rows"])
    axes.set_ylim(-0.6, 2.6)
    axes.set_xlabel("years from the mean")
    axes.legend()


def delays(axes: Any) -> None:
    """The answer of the tutorial, asked anew."""
    flights = load_flights()
    terms = {"epsilon": 3, "unit": "tailnum", "max_rows": 60, "name": f"delays {axes.xaxis.label.get_color()}"}
    flights.dp.protect(**terms)
    flights.dp(epsilon=1).groupby("origin", keys=["EWR", "JFK", "LGA"])["dep_delay"].mean(bounds=(-30, 180)).plot(
        ax=axes
    )
    axes.set(title="mean delay in minutes, epsilon 1", ylabel="", xlabel="")


def laplace(axes: Any) -> None:
    """Noise around two neighbouring counts."""
    x, p = np.arange(90, 112), math.exp(-0.5)
    for centre, colour, shift in ((100, BLUE, -0.2), (101, ORANGE, 0.2)):
        heights = (1 - p) / (1 + p) * p ** np.abs(x - centre)
        axes.bar(x + shift, heights, width=0.4, color=colour, label=f"true count {centre}")
    axes.set(xlabel="released count", ylabel="probability", title="ε = 0.5: no bar is more than 1.65 times its twin")
    axes.legend()


def gaussian(axes: Any) -> None:
    """Deviation of each of m counts that share (1, 1e-6), every row in all of them."""
    counts = np.arange(1, 101)
    sigma = float(accounting.gaussian_sigma(1, 1e-6))
    axes.plot(counts, math.sqrt(2) * counts, color=BLUE, label="Laplace, ε = 1")
    axes.plot(counts, sigma * np.sqrt(counts), color=ORANGE, label="Gaussian, ε = 1, δ = 10⁻⁶")
    axes.set(xlabel="counts that share the price", ylabel="standard deviation", xlim=(1, 100), ylim=(0, 145))
    axes.legend()


def selection(axes: Any) -> None:
    """Chance of candidates 0..9 below the best by twice their number."""
    found = teaching.selection([-2 * i for i in range(10)], epsilon=1).chances
    for (name, chances), colour, shift in zip(found.items(), (BLUE, ORANGE), (-0.2, 0.2), strict=True):
        axes.bar(np.arange(10) + shift, chances, width=0.4, color=colour, label=name)
    axes.set(xlabel="rows below the best candidate", ylabel="chance", title="counts under replace_one, ε = 1")
    axes.set_xticks(range(10), [str(2 * i) for i in range(10)])
    axes.legend()


def smooth(axes: Any) -> None:
    """How far one row may move a median of 201 values in 0..100, by their spread."""
    spreads, found = np.linspace(0.5, 45, 60), []
    for spread in spreads:
        values = np.clip(50 + spread * np.linspace(-1, 1, 201) ** 3, 0, 100)
        found.append(teaching.sensitivities(values, (0, 100), beta=0.1, relation="replace_one"))
    soft = [each.smooth_sensitivity for each in found]
    local = [float(each.local_sensitivity) for each in found]
    axes.axhline(100, color=GREY, label="worst table")
    axes.plot(spreads, soft, color=ORANGE, label="smooth bound, β = 0.1")
    axes.plot(spreads, local, color=BLUE, label="this table")
    axes.set(yscale="log", xlabel="spread of the values", ylabel="move of the median", ylim=(1e-7, 1e3))
    axes.legend(loc=(0.02, 0.68), ncols=3)


def boxes(axes: Any, places: list[tuple[float, float, float, str, str]], height: float = 0.7) -> None:
    """Labelled boxes, (left, bottom, width, text, colour) each, on bare axes."""
    for left, bottom, width, text, colour in places:
        axes.add_patch(plt.Rectangle((left, bottom), width, height, facecolor=colour, alpha=0.25, edgecolor=colour))
        axes.text(left + width / 2, bottom + height / 2, text, ha="center", va="center")
    axes.set_axis_off()


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """One arrow."""
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": GREY})


def blocks(axes: Any) -> None:
    """Rows to blocks to one answer."""
    boxes(axes, [(0, 1.5, 2, "rows", BLUE)])
    for i in range(4):
        boxes(axes, [(3.6, i, 2.2, f"block {i + 1}", GREEN), (7, i, 1.8, f"f(block {i + 1})", GREY)])
        arrow(axes, (2, 1.85), (3.6, i + 0.35))
        arrow(axes, (5.8, i + 0.35), (7, i + 0.35))
        arrow(axes, (8.8, i + 0.35), (10, 1.85))
    boxes(axes, [(10, 1.5, 3.2, "private median", ORANGE)])
    axes.set(xlim=(0, 13.4), ylim=(-0.1, 3.9))


def keys(axes: Any) -> None:
    """Chance that a key is listed at (1, 1e-6), by its rows."""
    epsilon, delta, threshold = 1.0, 1e-6, 15
    rows, p = np.arange(31), math.exp(-epsilon)
    best = [0.0]
    for _ in rows[1:]:
        best.append(min(math.exp(epsilon) * best[-1] + delta, 1 - p * (1 - best[-1] - delta), 1.0))
    above = [
        p ** (threshold - n) / (1 + p) if n < threshold else 1 - p ** (n - threshold + 1) / (1 + p) for n in rows[1:]
    ]
    axes.plot(rows, best, "o-", color=ORANGE, markersize=3, label="optimal, list alone")
    axes.plot(rows[1:], above, "s-", color=BLUE, markersize=3, label="threshold 15, with counts")
    axes.set(xlabel="rows of the key", ylabel="chance to be listed", title="ε = 1, δ = 10⁻⁶, one row per unit")
    axes.legend()


def quantiles(axes: Any) -> None:
    """The recursion for seven levels."""
    for depth, colour in enumerate((ORANGE, BLUE, GREEN)):
        parts = 2**depth
        for i in range(parts):
            low, width = 8 * i / parts, 8 / parts
            level = (2 * i + 1) * 4 // parts
            boxes(axes, [(low + 0.05, 2 - depth, width - 0.1, f"{level}/8", colour)])
    axes.text(8.1, 2.35, "all rows", va="center")
    axes.text(8.1, 1.35, "below, above", va="center")
    axes.text(8.1, 0.35, "four parts", va="center")
    axes.set(xlim=(0, 10), ylim=(-0.1, 2.9))


def bounding(axes: Any) -> None:
    """Rows of five units, of which at most three each count."""
    owned = np.array([1, 5, 2, 9, 3])
    kept = np.minimum(owned, 3)
    axes.bar(range(5), kept, color=BLUE, label="count: a random 3 at most")
    axes.bar(range(5), owned - kept, bottom=kept, color=GREY, alpha=0.35, label="in no answer")
    axes.set_xticks(range(5), [f"unit {letter}" for letter in "ABCDE"])
    axes.set(ylabel="rows", title="max_rows = 3")
    axes.legend(loc="upper left")


def budget(axes: Any) -> None:
    """How many answers of one price fit into (3, 1e-6)."""
    prices = [0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3]
    found = [accounting.queries_for(price, (3, 1e-6))["queries"] for price in prices]
    for row, text, colour in (
        ("basic", "sum of epsilons", GREY),
        ("hybrid", "hybrid filter", BLUE),
        ("optimal", "declared as a plan", ORANGE),
    ):
        axes.plot(prices, [table[row] for table in found], "o-", color=colour, markersize=3, label=text)
    axes.set(
        xscale="log", yscale="log", xlabel="epsilon of a question", ylabel="questions", title="total ε = 3, δ = 10⁻⁶"
    )
    axes.set_xticks(prices, [str(price) for price in prices])
    axes.minorticks_off()
    axes.legend()


def panels(axes: Any, count: int) -> list[Any]:
    """As many axes side by side in place of one."""
    shape = axes.figure
    axes.remove()
    return list(shape.subplots(1, count))


def tilt(axes: Any) -> None:
    """The revenue of four bids by price, and the density that it gives each price."""
    both = panels(axes, 2)
    teaching.revenue([100, 100, 100, 401], upper=500, epsilon=20).plot(both)
    both[0].set(title="revenue", xlabel="price", ylabel="")
    both[1].set(title="density of the price, ε = 20", ylabel="")
    both[0].legend(loc="lower center", fontsize="small")


def admissible(axes: Any) -> None:
    """What neighbours see of a Cauchy law."""
    teaching.admissible("cauchy", epsilon=1).plot(panels(axes, 3))


def models(axes: Any) -> None:
    """Where noise is added: by whoever holds the table, or by each person."""
    for top, trusted in ((2.3, True), (0, False)):
        axes.text(0, top + 1.75, "central model" if trusted else "local model", weight="bold")
        for i in range(3):
            place = top + 1.1 - 0.55 * i
            boxes(axes, [(0, place, 1.6, f"person {i + 1}", BLUE)], 0.42)
            start = 1.6
            if not trusted:
                boxes(axes, [(2.2, place, 1.3, "noise", ORANGE)], 0.42)
                arrow(axes, (1.6, place + 0.21), (2.2, place + 0.21))
                start = 3.5
            arrow(axes, (start, place + 0.21), (4.4, top + 0.76))
        boxes(axes, [(4.4, top + 0.3, 2.4, "trusted curator" if trusted else "untrusted curator", GREY)], 0.9)
        end = 6.8
        if trusted:
            boxes(axes, [(7.6, top + 0.55, 1.3, "noise", ORANGE)], 0.42)
            arrow(axes, (6.8, top + 0.76), (7.6, top + 0.76))
            end = 8.9
        boxes(axes, [(9.7, top + 0.55, 1.8, "answers", GREEN)], 0.42)
        arrow(axes, (end, top + 0.76), (9.7, top + 0.76))
    axes.set(xlim=(0, 11.6), ylim=(-0.1, 4.4))


def composition(axes: Any) -> None:
    """Total epsilon of k questions at 0.1, by every theorem."""
    counts = [1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200]
    found = [accounting.compose({0.1: k}, delta=1e-6)["epsilon"] for k in counts]
    for rule, text, colour in (
        ("basic", "basic: the sum", GREY),
        ("advanced", "advanced", GREEN),
        ("zcdp", "zCDP", BLUE),
        ("optimal", "optimal", ORANGE),
    ):
        axes.plot(counts, [table[rule] for table in found], color=colour, label=text)
    axes.set(xlabel="questions at ε = 0.1", ylabel="total ε", title="δ = 10⁻⁶", xlim=(0, 200), ylim=(0, 12))
    axes.legend()


def candidates(axes: Any) -> None:
    """One run of the median mechanism on 60,000 rows of eight kinds: candidates that are left, and r."""
    data, universe = near_a_candidate()
    tables = teaching.candidate_tables(universe, rows=6)
    kinds = universe["kind"].tolist()
    questions = [f"kind in {[a, b]}" for a in kinds for b in kinds if a < b]
    found = teaching.median_mechanism(data, questions, candidates=tables, epsilon=1).table()
    left, right = panels(axes, 2)
    left.step(found.index + 1, found["after"], where="post", color=BLUE)
    left.set(yscale="log", xlabel="question", title="candidates that are left")
    right.plot(found.index + 1, found["r"], color=GREY)
    for hard, colour in ((True, ORANGE), (False, BLUE)):
        some = found[found["hard"] == hard]
        right.plot(some.index + 1, some["r"], "o", color=colour, markersize=4, label="hard" if hard else "easy")
    right.set(xlabel="question", title="r", ylim=(-0.05, 1.05))
    right.legend()


def near_a_candidate() -> tuple[pd.DataFrame, pd.DataFrame]:
    """60,000 rows that are nearly in shares of a sixth, and the kinds that there are."""
    kinds = list("abcdefgh")
    counts = (20_050, 9_980, 10_010, 0, 19_950, 0, 10, 0)
    return pd.DataFrame({"kind": np.repeat(kinds, counts)}), pd.DataFrame({"kind": kinds})


def help_texts(folder: Path) -> None:
    """One text file for each command, as ``--help`` prints it in the width of a page, 76 columns."""
    parser = argparse.ArgumentParser(prog="pandas-dp")
    commands = parser.add_subparsers()
    for command in (query, run, ledger):
        command.add(commands)
    texts = dict(commands.choices)
    for name, command in commands.choices.items():
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                texts |= {f"{name} {part}": inner for part, inner in action.choices.items()}
    for name, command in texts.items():
        command.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=76)
        (folder / f"{name.replace(' ', '_')}.txt").write_text(command.format_help())


if __name__ == "__main__":
    answer(Path(__file__).parent / "_static")
