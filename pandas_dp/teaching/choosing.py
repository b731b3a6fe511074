"""NOT PRIVATE: the chance of every candidate under the exponential mechanism and permute-and-flip."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.teaching.public import MARK, axes_for, numbers_by_label, positive

LINE = "selection({'red': 3, 'blue': 5}, epsilon=1)"
EXPONENTIAL, FLIP, BOUND = "exponential mechanism", "permute-and-flip", "bound"


@dataclass(frozen=True, repr=False)
class Selection:
    """NOT PRIVATE: which candidate is chosen how often.

    Attributes
    ----------
    candidates : tuple
    scores, measure : tuple of Fraction, one for each candidate
    epsilon : Fraction
    rate : Fraction
        c: the weight of a candidate is measure exp(c score).

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> found = teaching.selection({"brown": 500, "black": 400}, epsilon=0.02)
    >>> found.table().round(3)["exponential mechanism"].to_dict()
    {'brown': 0.731, 'black': 0.269}
    """

    candidates: tuple[Hashable, ...]
    scores: tuple[Fraction, ...]
    measure: tuple[Fraction, ...]
    epsilon: Fraction
    rate: Fraction

    @property
    def best(self) -> Fraction:
        """OPT: the highest score of a candidate whose measure is not 0."""
        return max(score for score, mass in zip(self.scores, self.measure, strict=True) if mass)

    @property
    def chances(self) -> dict[str, NDArray[np.float64]]:
        """Chance of each candidate under each mechanism; permute-and-flip has equal measures only."""
        below = np.array([float(self.rate * (score - self.best)) for score in self.scores])  # shape (candidates,)
        masses = np.array([float(mass / sum(self.measure)) for mass in self.measure])
        weights = np.where(masses > 0, masses, 0) * np.exp(np.minimum(below, 0))
        found = {EXPONENTIAL: weights / weights.sum()}
        if len(set(self.measure)) == 1:
            found[FLIP] = flipped(np.exp(below))
        return found

    def table(self) -> pd.DataFrame:
        """NOT PRIVATE: the score and the chances of each candidate.

        Returns
        -------
        DataFrame
            One row for each candidate. Columns: score; measure, where it is not the same for all; exponential mechanism;
            permute-and-flip, where it is.

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> teaching.selection([5, 4, 0], epsilon=2).table().round(3)
        NOT PRIVATE  score  exponential mechanism  permute-and-flip
        0              5.0                  0.727             0.814
        1              4.0                  0.268             0.184
        2              0.0                  0.005             0.003
        """
        columns: dict[str, Any] = {"score": [float(score) for score in self.scores]}
        if len(set(self.measure)) > 1:
            columns["measure"] = [float(mass) for mass in self.measure]
        return pd.DataFrame(columns | self.chances, index=pd.Index(self.candidates)).rename_axis(columns=MARK)

    def shortfall(self, t: Any) -> float:
        """How far below the best the chosen score is with probability exp(-t) at most: (ln(m(O) / m(O*)) + t) / c.

        Parameters
        ----------
        t : number
            Positive; the theorem promises probability 1 - exp(-t).

        Returns
        -------
        float
            O is all candidates, O* those of the highest score, m their measure; without one, how many they are.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> nations = {"Sweden": 20, "Norway": 12, "Finland": 7, "Denmark": 5}
        >>> round(teaching.selection(nations, epsilon=1).shortfall(3), 2)
        8.77
        """
        return (self._log_share + float(positive(t, "t", ".shortfall(3)"))) / float(self.rate)

    def chance_below(self, shortfall: Any) -> pd.Series[float]:
        """NOT PRIVATE: the chance to choose a score that is so far below the best, or farther.

        Parameters
        ----------
        shortfall : number
            Positive.

        Returns
        -------
        Series
            Of each mechanism, and what the theorem promises: m(O) / m(O*) exp(-c shortfall).

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> hair = teaching.selection({"brown": 500, "black": 400, "blond": 0, "red": 0}, epsilon=0.1)
        >>> hair.chance_below(100).round(4).to_dict()
        {'exponential mechanism': 0.0067, 'permute-and-flip': 0.0034, 'bound': 0.027}
        """
        far = positive(shortfall, "shortfall", ".chance_below(100)", 10**300)
        below = np.array([score <= self.best - far for score in self.scores])
        found = {name: float(chances[below].sum()) for name, chances in self.chances.items()}
        found[BOUND] = min(1.0, math.exp(self._log_share - float(self.rate * far)))
        return pd.Series(found, name=f"{MARK}: {float(far):g} or more below the best")

    def plot(self, ax: Any = None) -> Any:
        """NOT PRIVATE: draw the chances of the candidates, those of both mechanisms side by side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure where left out.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            Without matplotlib; the text says what to install.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from pandas_dp import teaching
        >>> teaching.selection([5, 4, 0], epsilon=2).plot(Figure().subplots()).get_ylabel()
        'chance'
        """
        (drawn,) = axes_for(ax, 1, 3)
        chances, places = self.chances, np.arange(len(self.candidates))
        width = 0.8 / len(chances)
        for (name, heights), colour in zip(chances.items(), ("tab:blue", "tab:orange"), strict=False):
            shift = (list(chances).index(name) - (len(chances) - 1) / 2) * width
            drawn.bar(places + shift, heights, width=width, color=colour, label=name)
        labels = [f"{name}\n{float(score):g}" for name, score in zip(self.candidates, self.scores, strict=True)]
        drawn.set_xticks(places, labels)
        drawn.set(ylabel="chance", xlabel="candidate and its score")
        drawn.set_title(f"{MARK}: chances at epsilon {float(self.epsilon):g}", fontsize="medium")
        drawn.legend(fontsize="small")
        return drawn

    def __repr__(self) -> str:
        """The table, marked."""
        head = f"{MARK}: chances of {len(self.candidates)} candidates at epsilon {float(self.epsilon):g}"
        return f"{head}, rate {float(self.rate):g}\n{self.table().round(4).to_string()}"

    @property
    def _log_share(self) -> float:
        """ln(m(O) / m(O*))."""
        tops = (mass for score, mass in zip(self.scores, self.measure, strict=True) if score == self.best)
        return math.log(sum(self.measure) / sum(tops))


@example(LINE)
def selection(
    scores: Any, *, epsilon: Any, sensitivity: Any = 1, monotonic: bool = False, measure: Any = None
) -> Selection:
    """NOT PRIVATE: the exponential mechanism and permute-and-flip in the open, for PUBLIC scores.

    Parameters
    ----------
    scores : dict, Series or list of numbers
        The score of each candidate, at most 500; candidates of a list are 0, 1, 2, ... They must be public: toy numbers, never
        counts of a table that is to be protected.
    epsilon : number
    sensitivity : number
        Delta: how far one unit moves a score at most.
    monotonic : bool
        Whether one unit moves all scores in the same direction, as it does with counts under add_remove.
    measure : dict, Series or list of numbers, optional
        Base measure, for the same candidates: not negative. Equal for all where left out.

    Returns
    -------
    Selection

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for a protected column.

    Notes
    -----
    The exponential mechanism chooses o with probability proportional to m(o) exp(c s(o)), with c = epsilon / (2 sensitivity),
    or epsilon / sensitivity if scores are monotonic, because the normaliser then changes in the same direction.
    Permute-and-flip visits the candidates in random order and takes o with probability p_o = exp(-c (OPT - s(o))), so o is
    chosen with probability p_o times the integral over t in 0..1 of the product of 1 - p_j t over all other j. With either,
    the chosen score is more than (ln(m(O) / m(O*)) + t) / c below the best with probability at most exp(-t). The guarantee is
    epsilon under add_remove and replace_one alike, for the sensitivity of that relation. Source: McSherry, Talwar 2007,
    Theorem 6; McKenna, Sheldon 2020.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> teaching.selection({"red": 3, "blue": 5}, epsilon=1, monotonic=True)
    NOT PRIVATE: chances of 2 candidates at epsilon 1, rate 1
    NOT PRIVATE  score  exponential mechanism  permute-and-flip
    red            3.0                 0.1192            0.0677
    blue           5.0                 0.8808            0.9323
    """
    labels, found = numbers_by_label(scores, "scores", "selection", LINE)
    price = positive(epsilon, "epsilon", LINE)
    if not isinstance(monotonic, bool):
        raise ArgumentTypeError(f"monotonic must be True or False: {LINE[:-1]}, monotonic=True)")
    rate = price / positive(sensitivity, "sensitivity", LINE, 10**300) / (1 if monotonic else 2)
    masses = _masses(measure, labels)
    return Selection(labels, found, masses, price, rate)


def _masses(measure: Any, labels: Sequence[Hashable]) -> tuple[Fraction, ...]:
    if measure is None:
        return (Fraction(1),) * len(labels)
    line = f"{LINE[:-1]}, measure={{'red': 1, 'blue': 2}})"
    names, masses = numbers_by_label(measure, "measure", "selection", line)
    if set(names) != set(labels):
        raise ArgumentValueError(f"measure must name the candidates of scores, each once: {line}")
    if min(masses) < 0 or not sum(masses):
        raise ArgumentValueError(f"measure must not be negative, nor 0 for all: {line}")
    by_name = dict(zip(names, masses, strict=True))
    return tuple(by_name[label] for label in labels)


def flipped(kept: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chances of permute-and-flip; `kept` are the probabilities of staying with each candidate, one of them 1.

    The integrand is a polynomial in t of degree n - 1, for which n / 2 + 1 nodes are exact; all terms are positive.
    """
    nodes, weights = np.polynomial.legendre.leggauss(kept.size // 2 + 1)
    t = (nodes + 1) / 2  # shape (nodes,)
    missed = np.log1p(-np.outer(t, kept))  # shape (nodes, candidates)
    others = np.exp(missed.sum(axis=1, keepdims=True) - missed)
    return kept * (weights[:, None] / 2 * others).sum(axis=0)
