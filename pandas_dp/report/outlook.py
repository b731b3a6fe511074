"""What is known of the noise of an answer before it is drawn: public facts and the price alone, no row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pandas_dp.aggregates.above_threshold import AboveThreshold, plain_epsilon
from pandas_dp.aggregates.base import Aggregate, Answer, Guarantee, Terms, noise_of
from pandas_dp.aggregates.choices import Choice, TopK
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.keys import ByFoundKey, FoundCounts, FoundKeys, chances
from pandas_dp.aggregates.moments import Mean, Variance
from pandas_dp.aggregates.oracles import SIZE_SHARE, Oracle, Passed
from pandas_dp.aggregates.private_bounds import SHARE, PrivateBounds
from pandas_dp.aggregates.randomized_response import RandomizedAnswers, standard_error
from pandas_dp.aggregates.ranges import Ecdf, RangeCounts, combined_half_width, parts_error
from pandas_dp.aggregates.sample_and_aggregate import SIZES_SHARE, GroupsOfBlocks, SampleAndAggregate, VoteOfBlocks
from pandas_dp.aggregates.selections import QuantileOf
from pandas_dp.aggregates.smooth import Smoothed
from pandas_dp.aggregates.sums import Sum
from pandas_dp.aggregates.units import RowsPerUnit
from pandas_dp.aggregates.vectors import UNIT, ByName, VectorOfBlocks
from pandas_dp.aggregates.winsorized import WinsorizedMean
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.key_selection import OptimalSelection
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.randomized_response import RandomizedResponse
from pandas_dp.core.mechanisms.smooth import SmoothNoise
from pandas_dp.core.mechanisms.winsorized import WinsorizedSum
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.blocks import BlockSums
from pandas_dp.kinds import Kind
from pandas_dp.report.base import LEVEL
from pandas_dp.report.text import duration_unit
from pandas_dp.uncertainty import Additive, Noise, RankBound, ScoreGap, percent, rounded_up

AT = f"({percent(LEVEL)})"
SAY = "say about how many: preview(..., rows=10_000)"
FITS = "not known in advance: it fits the data"
LONGEST, MOST_PLAIN = 2**62, 1e15
QUESTIONS = 100  # of a threshold stream, for an example of its margin


@dataclass(frozen=True)
class Outlook:
    """The noise of an answer, in words, and its error as a number where public numbers give one.

    Attributes
    ----------
    mechanism, error : str
    scale : str or None
        Of the noise; None where it is not known in advance.
    half_width : number, Timedelta or dict, optional
        Of the interval of the answer (the widest of a vector); by name for several numbers.
    notes : tuple of str
    parts : tuple of (str, str)
        Of several questions asked together: the name of each, and its error and share of the price.
    """

    mechanism: str
    scale: str | None
    error: str
    half_width: Any = None
    notes: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()


class Unit(NamedTuple):
    """The unit of a distance of answers: a word, or a duration in nanoseconds."""

    word: str = ""
    duration: bool = False

    def text(self, size: float | Fraction) -> str:
        """Write a size, rounded up to three digits."""
        name, shown = self.word, float(size)
        if self.duration:
            name, scale = duration_unit(pd.Timedelta(min(math.ceil(size), LONGEST), unit="ns"))
            shown /= scale.value
        whole = f"{shown:,.0f}" if shown.is_integer() and shown < MOST_PLAIN else rounded_up(shown)
        return f"{whole} {name}" if name else whole

    def value(self, size: float | Fraction) -> Any:
        """The size as a number, or a Timedelta."""
        if self.duration:
            return Kind("timedelta").value(Fraction(size))
        whole = self.word and isinstance(size, int | Fraction) and size == int(size)
        return int(size) if whole else float(size)


ROWS, PLAIN = Unit("rows"), Unit()


def unit_of(kind: Kind) -> Unit:
    """Distances of the values of a column: of dates they are durations."""
    return Unit(duration=kind.name in ("datetime", "timedelta"))


@singledispatch
def outlook(aggregate: Aggregate, terms: Terms, rows: int | None) -> Outlook:
    """Say what is known of the noise of a question.

    Parameters
    ----------
    aggregate : Aggregate
    terms : Terms
    rows : int or None
        About how many rows count, as the caller says.
    """
    raise TypeError("this question has no outlook")


@outlook.register
def _count(aggregate: Count, terms: Terms, rows: int | None) -> Outlook:
    if aggregate.column is None and terms.public_rows is not None:
        return Outlook("none: the number is public", None, "exact", 0)
    return _noisy(noise_of(aggregate.look(terms)), Fraction(1), ROWS)


@outlook.register
def _counts(aggregate: CountBy, terms: Terms, rows: int | None) -> Outlook:
    return _noisy(noise_of(aggregate.look(terms)), Fraction(1), ROWS, "each ")


@outlook.register
def _units(aggregate: RowsPerUnit, terms: Terms, rows: int | None) -> Outlook:
    return _noisy(noise_of(aggregate.look(terms)), Fraction(1), Unit("units"), "each ")


@outlook.register
def _found_counts(aggregate: FoundCounts, terms: Terms, rows: int | None) -> Outlook:
    answer = aggregate.answer([], aggregate.look(terms), terms)
    threshold = f"keys are listed from a noisy count of {aggregate.selection(terms).threshold:,} on"
    found = _noisy(aggregate.selection(terms).noise, Fraction(1), ROWS, "each ")
    return replace(found, mechanism=answer.mechanism, notes=(threshold,))


@outlook.register
def _found_keys(aggregate: FoundKeys, terms: Terms, rows: int | None) -> Outlook:
    (seen,) = chances(aggregate.look(terms), terms.unit)
    return Outlook(OptimalSelection.name, None, seen)


@outlook.register
def _by_found_key(aggregate: ByFoundKey, terms: Terms, rows: int | None) -> Outlook:
    found = outlook(aggregate.by_none(), aggregate.rest(terms), rows)
    return replace(found, notes=(*found.notes, *chances(aggregate.keys_look(terms), terms.unit)))


@outlook.register
def _sum(aggregate: Sum, terms: Terms, rows: int | None) -> Outlook:
    each = "" if aggregate.labels is None else "each "
    return _noisy(noise_of(aggregate.look(terms)), aggregate.lattice.step, unit_of(aggregate.kind), each)


def _noisy(noise: Noise, step: Fraction, unit: Unit, each: str = "") -> Outlook:
    half = noise.half_width(LEVEL) * step
    return Outlook(noise.name, _scale(noise, step, unit), f"{each}± {unit.text(half)} {AT}", unit.value(half))


def _scale(noise: Noise, step: Fraction, unit: Unit) -> str:
    if isinstance(noise, DiscreteLaplace):
        return f"scale {unit.text(noise.scale * step)}"
    return f"standard deviation {unit.text(noise.standard_deviation * float(step))}"


@outlook.register
def _mean(aggregate: Mean, terms: Terms, rows: int | None) -> Outlook:
    noise, step, unit = noise_of(aggregate.look(terms)), aggregate.lattice.step, unit_of(aggregate.kind)
    grouped = aggregate.labels is not None
    known = rows if grouped or rows else terms.public_rows
    found = _over_rows(aggregate.error_of_one_row(noise, LEVEL), known, unit, " of a group" if grouped else "")
    return replace(found, mechanism=noise.name, scale=f"{_scale(noise, step, unit)}, on sums whose ratio is the mean")


@outlook.register
def _variance(aggregate: Variance, terms: Terms, rows: int | None) -> Outlook:
    """Error of at most t' step^2 / n to the first order, t' the noise of each of three features in exact data.

    With shares p = F3 / n and d = (F1 - F2) / n the derivatives of the f of `Spread` are 2 (p - d + d^2) / n,
    2 (p + d + d^2) / n and -2 (1 - p - d^2) / n; as |d| <= 1 - p the sum of their sizes is at most 4 / n. A variance is
    f (width / 2)^2, and n rows have n cells^2.
    """
    noise, step = noise_of(aggregate.look(terms)), float(aggregate.lattice.step)
    scale = f"{_scale(noise, aggregate.lattice.step**2, PLAIN)}, on sums of which the variance is made"
    numerator = (noise.tail(1 - (1 - LEVEL) / 3) + 1) * step**2
    grouped = aggregate.labels is not None
    known, more = (rows, " of a group") if grouped else (rows or terms.public_rows, "")
    if not aggregate.root:
        return replace(_over_rows(numerator, known, PLAIN, more, "at most about"), mechanism=noise.name, scale=scale)
    # the error of a root is that of the variance over twice the root itself, which only the answer tells
    if known:
        error = (
            f"at most about ± {PLAIN.text(numerator / 2 / known)} / standard deviation, with {known:,} rows{more} {AT}"
        )
    else:
        error = f"at most about ± {PLAIN.text(numerator / 2)} / (rows{more} × standard deviation) {AT}; {SAY}"
    return Outlook(noise.name, scale, error)


def _over_rows(size: float, rows: int | None, unit: Unit, more: str = "", about: str = "about") -> Outlook:
    """An error of this size over the number of rows."""
    if not rows:
        return Outlook("", None, f"{about} ± {unit.text(size)} / rows{more} {AT}; {SAY}")
    half = size / rows
    return Outlook("", None, f"{about} ± {unit.text(half)} with {rows:,} rows{more} {AT}", unit.value(half))


@outlook.register
def _ranges(aggregate: RangeCounts, terms: Terms, rows: int | None) -> Outlook:
    error = parts_error(aggregate.look(terms), terms.unit)
    half = float(np.max(error.half_widths(LEVEL)))
    name = f"{error.noise.name} on {error.hierarchy}"
    words = f"each bin at most ± {ROWS.text(half)} {AT}; sums over bins: .range_sum() of the answer"
    return Outlook(name, _scale(error.noise, Fraction(1), ROWS), words, half)


@outlook.register
def _ecdf(aggregate: Ecdf, terms: Terms, rows: int | None) -> Outlook:
    error = parts_error(aggregate.look(terms), terms.unit)
    hierarchy = error.hierarchy
    inner, share = hierarchy.prefixes(np.arange(1, hierarchy.size))
    variances = (
        inner + np.maximum(share, 1 - share) ** 2 * hierarchy.root_variance
    )  # shape (edges - 2,); see `SharesError`
    half = combined_half_width(error.noise, LEVEL) * math.sqrt(float(np.max(variances, initial=0)))
    found = _over_rows(half, rows or terms.public_rows, PLAIN, "", "each share at most about")
    name = f"{error.noise.name} on {hierarchy}"
    return replace(found, mechanism=name, scale=_scale(error.noise, Fraction(1), ROWS))


@outlook.register
def _choice(aggregate: Choice, terms: Terms, rows: int | None) -> Outlook:
    look = aggregate.look(terms)
    answer = aggregate.answer(list(range(aggregate.picks)), look, terms)
    word = {"count": "rows", "score": "in score", "revenue": "of revenue"}[aggregate.gap.what]
    notes = answer.notes if answer.assumes is None else (*answer.notes, f"assumes {answer.assumes}")
    found = _guaranteed(answer.mechanism, _guarantee(answer), Unit(word), notes)
    return replace(found, error=f"each: {found.error}") if isinstance(aggregate, TopK) else found


@outlook.register
def _quantile(aggregate: QuantileOf, terms: Terms, rows: int | None) -> Outlook:
    found = _guaranteed(aggregate._mechanisms(terms)[-1].name, aggregate._error(terms), ROWS)
    alone = aggregate.scalar and aggregate.labels is None
    return found if alone else replace(found, error=f"each: {found.error}")


def _guarantee(answer: Answer) -> Guarantee:
    if not isinstance(answer.error, Guarantee):
        raise TypeError("this answer has no guarantee")
    return answer.error


def _guaranteed(mechanism: str, error: Guarantee, unit: Unit, notes: tuple[str, ...] = ()) -> Outlook:
    bound: RankBound | ScoreGap = error.at(LEVEL)
    return Outlook(mechanism, f"scale {unit.text(1 / error.rate)}", str(bound), float(bound[0]), notes)


@outlook.register
def _smooth(aggregate: Smoothed, terms: Terms, rows: int | None) -> Outlook:
    more = "; a third of the price buys an error bar for the answer" if aggregate.error_bar else ""
    return Outlook(SmoothNoise(aggregate.noise, Fraction(1)).name, None, FITS + more)


@outlook.register
def _private_bounds(aggregate: PrivateBounds, terms: Terms, rows: int | None) -> Outlook:
    rest = replace(terms, price=terms.price.share(1 - SHARE))
    name = outlook(aggregate.question, rest, rows).mechanism
    error = "not known in advance: it depends on the bounds that are bought"
    if isinstance(aggregate.question, QuantileOf):
        error = "about: " + outlook(aggregate.question, rest, rows).error
    return Outlook(name, None, error, None, (f"{show(100 * SHARE)} % of the price buys bounds",))


@outlook.register
def _groups_of_blocks(aggregate: GroupsOfBlocks, terms: Terms, rows: int | None) -> Outlook:
    notes: tuple[str, ...] = (f"{show(100 * SIZES_SHARE)} % of the price buys the sizes of the groups",)
    if aggregate.blocks is None and rows is None:
        unknown = "not known in advance: noisy sizes decide the number of blocks; rows= says about how many rows"
        return Outlook("sample and aggregate", None, f"{unknown} a group has", None, (*notes, *aggregate.tried))
    values, how, look = aggregate.plan(terms, rows or 0)
    middle = [_middle(look, values.lattice)] * aggregate.by.count
    found, words = aggregate.read(values, how, look, middle)
    answer = Answer(None, found.mechanism, found.error, (words, *found.notes))
    shown = _blocks(answer, look, unit_of(aggregate.kind), "each ")
    return replace(shown, notes=(*shown.notes, *notes))


@outlook.register
def _function_of_blocks(aggregate: SampleAndAggregate, terms: Terms, rows: int | None) -> Outlook:
    look = aggregate.look(terms)
    if isinstance(look.mechanism, WinsorizedSum):
        return replace(_winsorized(look), notes=aggregate.tried)
    return _blocks(aggregate.answer([_middle(look, aggregate.lattice)], look, terms), look, PLAIN)


@outlook.register
def _vector_of_blocks(aggregate: VectorOfBlocks, terms: Terms, rows: int | None) -> Outlook:
    look = aggregate.look(terms)
    numbers = [_middle(look, UNIT)] * (aggregate.repeats * len(aggregate.names))
    return _blocks(aggregate.answer(numbers, look, terms), look, PLAIN, "each ")


def _middle(look: Measurement, lattice: Lattice) -> int:
    """Invented noisy integer of an answer in the middle of its bounds, of which there is nothing to note."""
    blocks = look.statistic.means.blocks if isinstance(look.statistic, BlockSums) else 1
    return blocks * lattice.cells // 2


@outlook.register
def _vote(aggregate: VoteOfBlocks, terms: Terms, rows: int | None) -> Outlook:
    answer = aggregate.answer([0], aggregate.look(terms), terms)
    return _guaranteed(answer.mechanism, _guarantee(answer), Unit("votes"), answer.notes)


@outlook.register
def _winsorized_mean(aggregate: WinsorizedMean, terms: Terms, rows: int | None) -> Outlook:
    return _winsorized(aggregate.look(terms))


def _winsorized(look: Measurement) -> Outlook:
    grows = "not known in advance: it grows with the distance of two private quartiles"
    return Outlook(f"sample and aggregate, {WinsorizedSum.name}", None, grows)


def _blocks(answer: Answer, look: Measurement, unit: Unit, each: str = "") -> Outlook:
    """Noise of the combination of block results; what the blocks differ by comes on top."""
    beside = "noise alone: "
    if isinstance(answer.error, Guarantee):
        found = _guaranteed(answer.mechanism, answer.error, Unit("blocks"), answer.notes)
        return replace(found, error=f"{each}among the blocks, {found.error}")
    if isinstance(answer.error, Additive):
        found = _noisy(noise_of(look), answer.error.step, unit, f"{beside}{each}")
        return replace(found, mechanism=answer.mechanism, notes=answer.notes)
    if isinstance(answer.error, ByName):
        models = answer.error.models
        halves = {name: float(model.noise.half_width(LEVEL) * model.step) for name, model in models.items()}
        words = ", ".join(f"{name} ± {PLAIN.text(half)}" for name, half in halves.items())
        scales = [_scale(noise_of(look), model.step, PLAIN) for model in models.values()]
        error = f"{beside}{words} {AT}"
        return Outlook(answer.mechanism, ", ".join(dict.fromkeys(scales)), error, halves, answer.notes)
    return Outlook(answer.mechanism, None, FITS, None, answer.notes)


@outlook.register
def _randomized(aggregate: RandomizedAnswers, terms: Terms, rows: int | None) -> Outlook:
    mechanism = aggregate._mechanism(terms.price)
    answer = aggregate.answer([], aggregate.look(terms), terms)
    known, half, error = terms.public_rows, None, "useless: no key is kept"
    if mechanism.keep and known:
        half = NormalDist().inv_cdf(0.5 + LEVEL / 2) * max(
            standard_error(mechanism, share, known) for share in (0.0, 1.0)
        )
        error = f"each proportion of .estimate() at most ± {rounded_up(half)} {AT}"
    return Outlook(RandomizedResponse.name, None, error, half, answer.notes)


@outlook.register
def _threshold(aggregate: AboveThreshold, terms: Terms, rows: int | None) -> Outlook:
    test, margin = aggregate.test(terms), aggregate.margin(terms, QUESTIONS, LEVEL)
    scale = f"scale {ROWS.text(test.question_scale)} a question, {ROWS.text(test.threshold_scale)} the threshold"
    error = f"with {QUESTIONS} questions no answer is wrong for counts {margin:,} rows or more off the threshold {AT}"
    return Outlook(test.name, scale, error, margin)


@outlook.register
def _oracle(aggregate: Oracle, terms: Terms, rows: int | None) -> Outlook:
    epsilon, known = plain_epsilon(terms.price, "oracle(...)"), aggregate.rows or terms.public_rows
    notes: tuple[str, ...] = ()
    if known is None:
        bought = f"{show(100 * SIZE_SHARE)} % of the price buys the number of rows"
        epsilon, known, notes = epsilon * (1 - SIZE_SHARE), rows, (bought,)
    if known is None:
        words = f"not known in advance: it depends on the number of rows; {SAY}"
        return Outlook(aggregate.name, None, words, None, notes)
    plan = aggregate.plan(terms, epsilon, known)
    passed = Passed(plan.test, plan.threshold).bounds(0, LEVEL)[1]
    scale = f"scale {ROWS.text(plan.test.question_scale)} a test, {ROWS.text(plan.noise.scale)} a correction"
    hard = plan.noise.half_width(LEVEL)
    error = f"± {passed:,} rows where a guess passes its test, ± {hard:,} for {plan.updates:,} corrections {AT}"
    return Outlook(aggregate.name, scale, error, passed, notes)
