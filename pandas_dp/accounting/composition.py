"""What queries cost together, by every theorem side by side."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.accounting.losses import open_delta, several, total_of
from pandas_dp.accounting.rounding import float_above
from pandas_dp.accounting.rules import RULES, Answer
from pandas_dp.calls import example
from pandas_dp.errors import ArgumentValueError


@example("compose([0.1, 0.5], delta=1e-6)")
def compose(losses: Any, *, delta: Any) -> pd.DataFrame:
    """Total epsilon of queries asked of the same data, by every theorem of composition.

    Parameters
    ----------
    losses : list or dict
        A list of epsilons, of pairs (epsilon, delta), or of `Laplace`, `Exponential` and `Gaussian`, in any mixture; or a
        dict of how often each is paid: ``{0.1: 46}``.
    delta : number
        In (0, 1): what the theorem may use. The deltas of the losses are added to it.

    Returns
    -------
    DataFrame
        One row for each rule. Columns: epsilon, rounded up (NaN where the rule says nothing); delta, at which it holds;
        adaptive, whether it also holds when epsilons are chosen after seeing answers, with a total fixed before; note,
        among others where the theorem is worse than plain addition.

        * ``basic``: the sum (Dwork, McSherry, Nissim, Smith 2006).
        * ``advanced``: sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1) (Dwork, Rothblum, Vadhan 2010).
        * ``fully_adaptive``: sqrt(2 ln(1/delta) S) + S/2, S = sum e^2 (Whitehouse, Ramdas, Rogers, Wu 2023).
        * ``zcdp_simple``: rho + 2 sqrt(rho ln(1/delta)) (Bun, Steinke 2016), rho = sum e tanh(e/2) or less.
        * ``zcdp``: the same rho, converted at the best order (Canonne, Kamath, Steinke 2020).
        * ``rdp``: the Renyi divergence of each loss, at the best order (Mironov 2017; same conversion).
        * ``optimal``: nothing better follows from the epsilons (Kairouz, Oh, Viswanath 2015); with different ones an upper
          bound on a grid (Murtagh, Vadhan 2016).
        * ``gaussian``: exact for continuous Gaussian noise alone (Balle, Wang 2018; Dong, Roth, Su 2022).
        * ``pld``: privacy loss distributions (Sommer, Meiser, Mohammadi 2019), if dp-accounting is installed.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        With the line to type instead.

    Notes
    -----
    A session decides by one rule that was fixed when it was opened. Taking the least of these numbers afterwards is no
    guarantee when epsilons depended on answers. All but ``pld`` are computed with sixty digits or with an error bound that
    is added; the floats shown stand for the decimals they are written as.

    Examples
    --------
    >>> compose({0.1: 46}, delta=1e-6).loc[["basic", "advanced", "optimal"], "epsilon"].round(4).to_dict()
    {'basic': 4.6, 'advanced': 4.0489, 'optimal': 2.9964}
    >>> compose([0.1] * 10, delta=1e-6).loc["advanced", "note"]
    'worse than plain addition: 1.77 > 1'
    """
    counted = several(losses)
    slack = open_delta(delta, "compose([0.1, 0.5], delta=1e-6)")
    total = total_of(counted)
    if slack + total.delta >= 1:
        raise ArgumentValueError(
            "the deltas of the losses add up to 1 or more, which promises nothing: type smaller ones"
        )
    rows = {}
    for name, rule in RULES.items():
        answer = rule.epsilon(counted, slack)
        rows[name] = {
            "epsilon": math.nan if answer.epsilon is None else float_above(answer.epsilon),
            "delta": float_above(total.delta if name == "basic" else slack + total.delta),
            "adaptive": rule.adaptive,
            "note": _note(answer, total.epsilon),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("rule")


def _note(answer: Answer, plain: Fraction | None) -> str:
    if answer.epsilon is None or plain is None or answer.epsilon <= plain:
        return answer.note
    digits = 3 if answer.epsilon > plain * Fraction(101, 100) else 6
    worse = f"worse than plain addition: {float_above(answer.epsilon):.{digits}g} > {float(plain):.{digits}g}"
    return f"{worse}; {answer.note}" if answer.note else worse
