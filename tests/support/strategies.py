"""An exact search over adaptive strategies against a privacy filter.

The analyst may ask randomized responses of several sizes, each declared pure or (as a stand-in for noise without a finite
epsilon) by its divergence alone, in any order, chosen after each answer. The answer of size e moves the loss by +e or -e. It
may also pay delta for queries that reveal everything with that probability. What the best strategy reaches is the delta at
the promised epsilon, to be compared with the one promised. A right rule stays below; each twin exceeds it.
"""

from __future__ import annotations

import math
from fractions import Fraction as F
from functools import cache

from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.privacy import PrivacyLoss

UNIT = F(1, 20)
SIZES = (2, 6, 20)  # in units: 0.1, 0.3, 1.0
TIGHT = Budget.of(1, F(1, 1000))


def worst_delta(rule, reveals=()):
    charges = {}
    for size in SIZES:
        whole = rule.charge(PrivacyLoss.pure(size * UNIT))
        charges[size, True] = whole
        charges[size, False] = Charge(None, whole.renyi, F(0))
    promised = float(rule.budget.epsilon / UNIT)

    @cache
    def best(state, loss):
        value = max(0.0, 1 - math.exp((promised - loss) * float(UNIT)))
        for (size, _), charge in charges.items():
            after = rule.admit(state, charge)
            if after is not None:
                up = 1 / (1 + math.exp(-size * float(UNIT)))
                value = max(value, up * best(after, loss + size) + (1 - up) * best(after, loss - size))
        for t in reveals:
            after = rule.admit(state, Charge(F(0), F(0), t))
            if after is not None:
                value = max(value, float(t) + (1 - float(t)) * best(after, loss))
        return value

    return best(State.zero(), 0)
