"""Everything that draws has the law of its definition, and that law keeps the loss that is charged for it.

Classes and samplers are found by looking at the package (`support.walking`); what has no entry in `support.laws` or
`support.sampler_laws` fails here. Of each mechanism two things are tested:

* *draws*: a chi-squared test of its outputs, drawn from the operating system's bytes, against the exact law. False alarms: 1e-8
  each. Power: as many are drawn (`enough`) that outputs of its twin, which has too little noise, are refused but for 1e-6;
* *loss*: between the neighbours of the entry no event is likelier than the claim allows, by sums over all outputs: the pure
  epsilon (with delta the whole hockey stick), and the Renyi divergences of orders 2 and 8. The claim is nearly used, and the
  twin's law exceeds it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support import walking
from support.laws import MECHANISMS, NO_MECHANISMS, Law, Probabilities
from support.sampler_laws import SAMPLERS, TABLES, Draws

from tests.core.samplers.laws import FALSE_ALARM, chi_squared

FEWEST, MOST = 250, 64_000  # draws
MISSED = 1e-6
ORDERS = (2, 8)
LEFT_OUT = 1e-6  # mass of what a law leaves out


def without_a_law() -> list[str]:
    """Classes that draw, and samplers, of which no law is written down."""
    classes = walking.drawing() - MECHANISMS.keys() - NO_MECHANISMS.keys()
    samplers = walking.samplers() - SAMPLERS.keys()
    return [
        *(f"no law for class {cls.__name__}: add it to tests/support/laws.py" for cls in classes),
        *(f"no law for {one.__module__}.{one.__name__}(): add it to tests/support/sampler_laws.py" for one in samplers),
    ]


def test_everything_that_draws_has_a_law():
    assert without_a_law() == []
    assert (MECHANISMS.keys() | NO_MECHANISMS.keys()) <= walking.drawing()
    assert SAMPLERS.keys() <= walking.samplers()


# ------------------------------------------------------------------------------------------------------------------- draws
def enough(law: Probabilities, twin: Probabilities) -> int:
    """How many draws tell a twin's law from a law, but for MISSED: by the noncentral law of Pearson's statistic.

    Values that are expected fewer than ten times are one, as in the test itself.
    """
    n = FEWEST
    while n < MOST:
        cells = [out for out, p in law.items() if p * n >= 10]
        p, q = (np.array([*(each.get(out, 0.0) for out in cells), 0.0]) for each in (law, twin))
        p[-1], q[-1] = 1 - p.sum(), 1 - q.sum()
        kept = p * n >= 5
        distance = n * ((p - q)[kept] ** 2 / p[kept]).sum()
        freedom = max(int(kept.sum()) - 1, 1)
        if stats.ncx2.cdf(stats.chi2.isf(FALSE_ALARM, freedom), freedom, distance) < MISSED / 2:
            return n
        n = n * 3 // 2
    raise ValueError("the twin is too near to be told")


def refused(law: Law, mechanism: Any) -> bool:
    """Whether outputs of a mechanism are told from the law of the one that they should come from."""
    exact = law.pairs[0][0]
    expected = law.law(law.mechanism, exact)
    places = {out: place for place, out in enumerate(expected)}
    n = enough(expected, law.law(law.twin, exact))
    drawn = np.array([places.get(out, -1) for out in law.draws(mechanism, exact, n)])
    return chi_squared(drawn, {places[out]: p for out, p in expected.items()}) < FALSE_ALARM


LAWS = [
    pytest.param(law, id=f"{cls.__name__} {i}")
    for cls, laws in MECHANISMS.items()
    for i, law in enumerate(laws)
    if cls.__name__ != "StartedSparseVector"  # the same laws as those of SparseVector
]


@pytest.mark.parametrize("law", LAWS)
def test_mechanisms_draw_their_law(law):
    assert not refused(law, law.mechanism)
    assert refused(law, law.twin)


SAMPLED = [
    pytest.param(draws, id=f"{name} {i}")
    for name, entries in [*((function.__name__, entries) for function, entries in SAMPLERS.items()), ("Table", TABLES)]
    for i, draws in enumerate(entries)
]


@pytest.mark.parametrize("draws", SAMPLED)
def test_samplers_draw_their_law(draws: Draws):
    n = -(-enough(draws.twin, draws.law) // 1000) * 1000
    drawn = draws.draw(n)
    assert drawn.shape == (n,)
    assert chi_squared(drawn, draws.law) > FALSE_ALARM
    assert chi_squared(drawn, draws.twin) < FALSE_ALARM


# -------------------------------------------------------------------------------------------------------------------- loss
def apart(one: Probabilities, two: Probabilities) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all outputs of either law, 0 where one has none."""
    outputs = one.keys() | two.keys()
    both = np.array([[law.get(out, 0.0) for out in outputs] for law in (one, two)])
    return both[0], both[1]


def used(law: Law, mechanism: Any) -> float:
    """The largest share of the claim that a mechanism spends between the neighbours of an entry: above 1 it is broken."""
    claim, shares = law.mechanism.loss(law.sensitivity), [0.0]
    epsilon = None if claim.epsilon is None else float(claim.epsilon)
    for pair in law.pairs:
        laws = [law.law(mechanism, exact) for exact in pair]
        assert all(abs(sum(each.values()) - 1) < LEFT_OUT for each in laws)
        for p, q in (apart(*laws), apart(*laws[::-1])):
            if epsilon is not None and claim.delta:
                shares.append(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) / float(claim.delta))
                continue
            common = (p > 0) & (q > 0)
            if p[~common].sum() > LEFT_OUT:  # what only one of the neighbours gives tells everything
                return math.inf
            p, q = p[common], q[common]
            if epsilon is not None:
                shares.append(float(np.log(p / q).max()) / epsilon)
            for order in ORDERS:
                divergence = math.log(float((p**order / q ** (order - 1)).sum())) / (order - 1)
                shares.append(divergence / float(claim.renyi(order)))
    return max(shares)


@pytest.mark.parametrize("law", LAWS)
def test_no_loss_exceeds_the_claim(law):
    share = used(law, law.mechanism)
    assert law.near <= share <= 1 + 1e-6
    assert used(law, law.twin) > 1.01


# ------------------------------------------------------------------------------------------------- what the tables would see
@pytest.mark.parametrize("law", [MECHANISMS[cls][0] for cls in MECHANISMS if cls.__name__ == "DiscreteLaplace"])
def test_an_untrue_entry_is_found(law):
    """A law that is the twin's, neighbours that are one table, a sensitivity that is too small."""
    assert refused(replace(law, mechanism=law.twin, twin=law.mechanism), law.mechanism)
    assert used(replace(law, pairs=[(law.pairs[0][0], law.pairs[0][0])]), law.mechanism) < law.near
    assert used(replace(law, pairs=[([0], [2])]), law.mechanism) > 1.9
