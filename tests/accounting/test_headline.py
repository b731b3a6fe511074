"""How many queries fit into (3, 1e-6), and the command that prints it."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction as F

import pandas as pd
import pytest

from pandas_dp.accounting import __main__ as command
from pandas_dp.accounting import rules
from pandas_dp.accounting.composition import admitted, headline, session_filters
from pandas_dp.core.filters import renyi_limit
from pandas_dp.core.privacy import PureLoss

COUNTS = {
    "basic": [300, 30, 6, 3],
    "advanced, Dwork-Rothblum-Vadhan 2010": [2695, 26, 1, 0],
    "advanced, fully adaptive, Whitehouse et al. 2023": [2945, 29, 1, 0],
    "zCDP, Bun-Steinke 2016 conversion": [2945, 29, 1, 0],
    "zCDP, Canonne-Kamath-Steinke 2020 conversion": [3701, 37, 1, 0],
    "zCDP, Laplace's own rho": [3713, 38, 1, 0],
    "RDP, any pure mechanism": [3705, 41, 6, 3],
    "RDP, Laplace": [3718, 42, 6, 3],
    "optimal, Kairouz-Oh-Viswanath 2015": [4198, 46, 6, 3],
    "Gaussian of the same deviation, zCDP, Bun-Steinke": [5890, 58, 2, 0],
    "Gaussian of the same deviation, zCDP, Canonne et al.": [7402, 74, 2, 0],
    "Gaussian of the same deviation, exact (GDP)": [8390, 83, 3, 0],
    "exponential mechanism, rho = epsilon^2/8": [14805, 148, 5, 1],
    "hybrid filter of this package, default split of delta": [3676, 40, 6, 3],
    "hybrid filter, 1e-6 for the conversion, order 8.9332": [3705, 41, 6, 3],
}
PLD = "PLD, Laplace"


def without_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)


def test_every_number_of_the_table(monkeypatch):
    without_library(monkeypatch)
    table = headline()
    counts = table.drop(columns="adaptive")
    assert list(counts.columns) == ["0.01", "0.1", "0.5", "1.0"]
    assert {name: list(row) for name, row in counts.drop(PLD).iterrows()} == COUNTS
    assert counts.loc[PLD].isna().all()
    assert list(table.index[table["adaptive"] == "no"]) == [
        "advanced, Dwork-Rothblum-Vadhan 2010",
        "optimal, Kairouz-Oh-Viswanath 2015",
        PLD,
    ]


@pytest.mark.parametrize(("price", "queries"), [("0.5", 6), ("1", 3)])
def test_large_queries_fit_by_renyi_only_at_orders_so_high_that_they_are_the_sum(price, queries):
    """An accountant that stops at an order of ten thousand counts one fewer: 5 and 2."""
    loss = PureLoss(F(price))

    def fit(count, order):
        return count * loss.renyi(order) <= renyi_limit(F(3), F(1, 10**6), order)

    orders = [1 + F(2) ** F(k, 1) for k in range(-10, 14)] + [F(10_001)]
    assert not any(fit(queries, order) for order in orders)
    assert any(fit(queries - 1, order) for order in orders)
    assert fit(queries, F(2**40))


def test_the_filter_after_two_large_queries():
    counts = [admitted(rule, F("0.01"), (F("0.5"),) * 2) for rule in session_filters().values()]
    assert counts == [1714, 1732]
    assert admitted(next(iter(session_filters().values())), F("0.01"), (F(4),)) == 0


def test_the_laplace_row_with_the_library():
    pytest.importorskip("dp_accounting")
    assert list(headline().loc[PLD].drop("adaptive")) == [4212, 46, 6, 3]


def test_the_command_prints_it(monkeypatch, capsys):
    monkeypatch.setattr(
        command, "headline", lambda: pd.DataFrame({"0.1": [30, None]}, index=["basic", PLD], dtype="Int64")
    )
    command.main([])
    printed = capsys.readouterr().out
    assert f"\n{PLD}" in printed
    assert printed.split(f"\n{PLD}")[1].split()[0] == "-"  # as the footnote says
    assert "<NA>" not in printed
    assert "basic" in printed
    assert rules.INSTALL in printed
    assert "1,714  hybrid" in printed


def test_the_command_has_help(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["--help"])
    assert stop.value.code == 0
    assert "python -m pandas_dp.accounting" in capsys.readouterr().out


def test_the_calculators_are_loaded_when_asked_for():
    code = (
        "import sys, pandas_dp; assert 'pandas_dp.accounting' not in sys.modules;"
        "print(pandas_dp.accounting.epsilon_for(10, (1, 1e-6), rule='basic'), hasattr(pandas_dp, 'acounting'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0.1 False\n"
