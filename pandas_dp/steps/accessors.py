"""Methods of ``.str`` that an expression may call, by pandas' names and arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.constants import plain
from pandas_dp.steps.expression import Expression, Method, Option

_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_PLAIN_TEXT = "plain text is looked for, as in .str.contains('ICU'); several are joined by |"


def _method(name: str, operand: Expression, **options: Option) -> Expression:
    return Method(f"str.{name}", (operand,), tuple(options.items()))


def _bare(name: str, operand: Expression) -> Expression:
    """A method without options: what ``call`` finds in this signature is all that may be given."""
    return _method(name, operand)


def _strip(name: str, operand: Expression, to_strip: Any = None) -> Expression:
    return _method(name, operand) if to_strip is None else _method(name, operand, to_strip=_text(name, to_strip))


def _slice(operand: Expression, start: Any = None, stop: Any = None, step: Any = None) -> Expression:
    given = {"start": start, "stop": stop, "step": step}
    for bound in given.values():
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise ArgumentTypeError("str.slice takes integers, as in .str.slice(0, 3)")
        if bound is not None and not -(2**63) <= bound < 2**63:
            raise ArgumentValueError("str.slice takes integers in [-2**63, 2**63)")
    given = {name: None if bound is None else int(bound) for name, bound in given.items()}
    if step == 0:
        raise ArgumentValueError("str.slice: step cannot be 0")
    return _method("slice", operand, **given)


def _contains(
    operand: Expression, pat: Any, case: Any = True, flags: Any = 0, na: Any = False, regex: Any = None
) -> Expression:
    pat = _text("contains", pat)
    _missing_is_false("contains", na)
    if regex not in (None, False) or flags != 0:
        raise ArgumentValueError(
            f"str.contains: regular expressions are not read, since a cell could make one run for ever; {_PLAIN_TEXT}"
        )
    if regex is None and _SPECIAL & set(pat):
        raise ArgumentValueError(
            "str.contains: pandas would read this pat as a regular expression: write regex=False to look for this very "
            f"text; {_PLAIN_TEXT}"
        )
    if not isinstance(case, bool):
        raise ArgumentTypeError("str.contains: case has to be True or False")
    return _method("contains", operand, pat=pat, case=case, regex=False)


def _ends(name: str, operand: Expression, pat: Any, na: Any = False) -> Expression:
    _missing_is_false(name, na)
    several = isinstance(pat, list | tuple)
    found = tuple(sorted({_text(name, one) for one in pat})) if several else _text(name, pat)
    return _method(name, operand, pat=found)


def _missing_is_false(name: str, na: Any) -> None:
    if na is not False:
        raise ArgumentValueError(f"str.{name}: na has to be False, which missing cells give: add | d.x.isna() for True")


def _text(name: str, value: Any) -> str:
    value = plain(value) if isinstance(value, str) else value
    if not isinstance(value, str):
        raise ArgumentTypeError(f"str.{name} takes public text, as in .str.{name}('a')")
    return value


TEXT_METHODS: dict[str, Callable[..., Expression]] = {
    **{f"str.{name}": functools.partial(_bare, name) for name in ("lower", "upper", "len")},
    **{f"str.{name}": functools.partial(_strip, name) for name in ("strip", "lstrip", "rstrip")},
    **{f"str.{name}": functools.partial(_ends, name) for name in ("startswith", "endswith")},
    "str.contains": _contains,
    "str.slice": _slice,
}
