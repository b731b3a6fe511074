"""Methods and attributes of ``.str``, ``.dt``, ``.list`` and ``.struct`` in expressions: their arguments, checked, as data."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.choices import NOT_GIVEN
from pandas_dp.steps.date_texts import DAYS, MONTHS, WRITTEN, pattern, pieces
from pandas_dp.steps.dates import FLAGS, PARTS, SPANS
from pandas_dp.steps.expression import Constant, Expression, Map, Method, Operation, Option, lift
from pandas_dp.steps.parts import check_pattern
from pandas_dp.steps.values import LONGEST, plain

_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_PLAIN_TEXT = "this looks for plain text, as in .str.contains('ICU')"
Check = Callable[[str, Any], Option]


def method(name: str, operand: Expression, **options: Option) -> Expression:
    """A row-wise method with its options."""
    return Method(name, (operand,), tuple(options.items()))


def taking(name: str, **parameters: Check | tuple[Check, Any]) -> Callable[..., Expression]:
    """A method whose parameters are checked one by one; with a default where one stands beside the check."""
    given = {key: one if isinstance(one, tuple) else (one, inspect.Parameter.empty) for key, one in parameters.items()}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    known = [inspect.Parameter(key, kind, default=default) for key, (_, default) in given.items()]
    signature = inspect.Signature([inspect.Parameter("operand", inspect.Parameter.POSITIONAL_ONLY), *known])

    def build(operand: Expression, /, *args: Any, **kwargs: Any) -> Expression:
        bound = signature.bind(operand, *args, **kwargs)
        bound.apply_defaults()
        return method(name, operand, **{key: check(name, bound.arguments[key]) for key, (check, _) in given.items()})

    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


def text(name: str, value: Any) -> str:
    """A public text."""
    value = plain(value) if isinstance(value, str) else value
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} takes public text, as in .{name}('a')")
    return value


def whole(name: str, value: Any) -> int:
    """A public integer of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{name} takes integers, as in .{name}({'0, 3' if name == 'str.slice' else '3'})")
    if not -(2**63) <= value < 2**63:
        raise ArgumentValueError(f"{name} takes integers in [-2**63, 2**63)")
    return int(value)


def optional(check: Check) -> tuple[Check, None]:
    """A parameter that may be left out."""
    return (lambda name, value: None if value is None else check(name, value)), None


def _size(name: str, value: Any) -> int:
    if not 0 <= whole(name, value) <= LONGEST:
        raise ArgumentValueError(f"{name}: a text may grow to at most {LONGEST:,} characters")
    return whole(name, value)


def _fill(name: str, value: Any) -> str:
    if len(text(name, value)) != 1:
        raise ArgumentValueError(f"{name}: fillchar is one character")
    return text(name, value)


def _one_of(*listed: Any) -> Check:
    def check(name: str, value: Any) -> Any:
        if value not in listed or not isinstance(value, type(listed[0])):
            raise ArgumentValueError(f"{name}: {value!r:.40} is not among {', '.join(map(repr, listed))}")
        return value

    return check


def _plain(name: str, value: Any) -> str:
    if _SPECIAL & set(text(name, value)):
        raise ArgumentValueError(
            f"{name}: pandas would read this pat as a regular expression, but only plain text is counted here: "
            "x.str.len() - x.str.replace('.', '').str.len() counts dots"
        )
    return text(name, value)


def _step(name: str, value: Any) -> int:
    if value == 0:
        raise ArgumentValueError("str.slice: step cannot be 0")
    return whole(name, value)


def _contains(
    operand: Expression, pat: Any, case: Any = True, flags: Any = 0, na: Any = NOT_GIVEN, regex: Any = None
) -> Expression:
    pat = text("str.contains", pat)
    if regex is None and _SPECIAL & set(pat):
        raise ArgumentValueError(
            "str.contains: pandas would read this pat as a regular expression: write regex=True for that, or regex=False "
            f"to look for exactly this text; {_PLAIN_TEXT}"
        )
    return _missing("contains", na, _pattern("contains", operand, pat, case, flags, regex))


def _matches(
    name: str, operand: Expression, pat: Any, case: Any = True, flags: Any = 0, na: Any = NOT_GIVEN
) -> Expression:
    return _missing(name, na, _pattern(name, operand, text(f"str.{name}", pat), case, flags, True))


def _pattern(name: str, operand: Expression, pat: str, case: Any, flags: Any, regex: Any) -> Expression:
    if flags != 0:
        raise ArgumentValueError(
            f"str.{name}: flags are not supported: write case=False, or put (?i) and the like into the pattern"
        )
    if not isinstance(case, bool):
        raise ArgumentTypeError(f"str.{name}: case has to be True or False")
    if regex not in (None, False, True):
        raise ArgumentTypeError(f"str.{name}: regex has to be True or False")
    if regex:
        check_pattern(name, pat, case)
    return method(f"str.{name}", operand, pat=pat, case=case, **({"regex": bool(regex)} if name == "contains" else {}))


def _extract(operand: Expression, pat: Any, flags: Any = 0, expand: Any = True) -> Expression:
    pat = text("str.extract", pat)
    if flags != 0 or not isinstance(expand, bool):
        raise ArgumentValueError("str.extract: flags are not supported: write (?i) and the like into the pattern")
    check_pattern("contains", pat)  # before its groups are looked at
    check_pattern("extract", pat)
    return method("str.extract", operand, pat=pat)


def _split(name: str, operand: Expression, pat: Any = None, *, n: Any = -1, regex: Any = None) -> Expression:
    pat = None if pat is None else text(name, pat)
    if regex not in (None, False) or pat == "" or (regex is None and len(pat or "") > 1 and _SPECIAL & set(pat or "")):
        raise ArgumentValueError(
            f"{name}: splits at plain text; with more than one character type regex=False, "
            f"as in .{name}('. ', regex=False).str[0]"
        )
    return method(name, operand, pat=pat, n=whole(name, n))


def _replace(
    operand: Expression, pat: Any, repl: Any = None, n: Any = -1, case: Any = None, flags: Any = 0, regex: Any = False
) -> Expression:
    if case is not None or flags != 0 or regex is not False:
        raise ArgumentValueError(
            "str.replace: replaces plain text, as in .str.replace('a', 'b'); a part that a pattern finds is "
            ".str.extract('([0-9]+)')"
        )
    name = "str.replace"
    return method(name, operand, pat=text(name, pat), repl=text(name, repl), n=whole(name, n))


def _pad(operand: Expression, width: Any, side: Any = "left", fillchar: Any = " ") -> Expression:
    sides = {"left": "str.rjust", "right": "str.ljust", "both": "str.center"}
    name = sides[str(_one_of(*sides)("str.pad", side))]
    return TEXT_METHODS[name](operand, width, fillchar)


def _cat(operand: Expression, others: Any = None, sep: Any = None, na_rep: Any = None) -> Expression:
    if not isinstance(others, Expression) or isinstance(others, Constant):
        raise ArgumentTypeError(
            "str.cat: joins two columns, as in d.x.str.cat(d.y, sep='-'); a single column would be joined to one text of all "
            "its rows"
        )
    parts = [operand, lift("" if sep is None else text("str.cat", sep)), others]  # beside a text numbers are refused
    if na_rep is not None:
        filled = lift(text("str.cat", na_rep))
        parts = [part if isinstance(part, Constant) else Operation("fillna", (part, filled)) for part in parts]
    return functools.reduce(lambda left, right: Operation("+", (left, right)), parts)


def _ends(name: str, operand: Expression, pat: Any, na: Any = NOT_GIVEN) -> Expression:
    several = isinstance(pat, list | tuple)
    found = tuple(sorted({text(f"str.{name}", one) for one in pat})) if several else text(f"str.{name}", pat)
    return _missing(name, na, method(f"str.{name}", operand, pat=found))


def _strip(name: str, operand: Expression, to_strip: Any = None) -> Expression:
    return method(name, operand) if to_strip is None else method(name, operand, to_strip=text(name, to_strip))


def _missing(name: str, na: Any, found: Expression) -> Expression:
    """What is found; where ``na=False`` is given a missing cell is False in every dtype, also in those where it is unknown."""
    if na is NOT_GIVEN:
        return found
    if na is not False:
        raise ArgumentValueError(f"str.{name}: na has to be False where it is given: add | d.x.isna() for True")
    return Operation("fillna", (found, Constant(False)))


def _format(name: str, value: Any) -> str:
    pattern(text(name, value))
    return text(name, value)


_BARE = "lower upper capitalize casefold title swapcase len isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace"
_FROM = {"start": (whole, 0), "end": optional(whole)}
TEXT_METHODS: dict[str, Callable[..., Expression]] = {
    **{f"str.{name}": taking(f"str.{name}") for name in f"{_BARE} istitle isupper".split()},
    **{f"str.{name}": functools.partial(_strip, f"str.{name}") for name in ("strip", "lstrip", "rstrip")},
    **{f"str.{name}": functools.partial(_ends, name) for name in ("startswith", "endswith")},
    **{f"str.{name}": functools.partial(_matches, name) for name in ("match", "fullmatch")},
    **{f"str.{name}": functools.partial(_split, f"str.{name}") for name in ("split", "rsplit")},
    **{
        f"str.{name}": taking(f"str.{name}", width=_size, fillchar=(_fill, " "))
        for name in ("ljust", "rjust", "center")
    },
    **{f"str.{name}": taking(f"str.{name}", sub=text, **_FROM) for name in ("find", "rfind")},
    "str.removeprefix": taking("str.removeprefix", prefix=text),
    "str.removesuffix": taking("str.removesuffix", suffix=text),
    "str.zfill": taking("str.zfill", width=_size),
    "str.repeat": taking("str.repeat", repeats=_size),
    "str.normalize": taking("str.normalize", form=_one_of("NFC", "NFKC", "NFD", "NFKD")),
    "str.count": taking("str.count", pat=_plain),
    "str.contains": _contains,
    "str.extract": _extract,
    "str.slice": taking("str.slice", start=optional(whole), stop=optional(whole), step=optional(_step)),
    "str.slice_replace": taking("str.slice_replace", start=optional(whole), stop=optional(whole), repl=(text, "")),
    "str.replace": _replace,
    "str.pad": _pad,
    "str.cat": _cat,
    "str.get": taking("str.get", i=whole),
    "str.to_datetime": taking("str.to_datetime", format=(_format, "ISO8601")),
    "list.len": taking("str.len"),
    "struct.field": taking("struct.field", name_or_index=text),
}

_ALIASES = {"weekday": "day_of_week", "dayofweek": "day_of_week", "dayofyear": "day_of_year"}
_ALIASES |= {"daysinmonth": "days_in_month"}


def of_one(op: str, operand: Expression) -> Expression:
    """An operation without arguments: what ``call`` finds in this signature is all that may be given."""
    return Operation(op, (operand,))


def _name(part: str, names: list[str], first: int, operand: Expression) -> Expression:
    return Map((of_one(f"dt.{part}", operand),), tuple(enumerate(names, first)))


def _total_seconds(operand: Expression) -> Expression:
    return Operation("/", (operand, Constant(pd.Timedelta(seconds=1))))


def _written_format(name: str, value: Any) -> str:
    pieces(name, text(name, value), WRITTEN)
    return text(name, value)


def _frequency(name: str, value: Any) -> pd.Timedelta:
    try:
        with contextlib.suppress(ValueError):  # a duration, as one is written down
            value = pd.tseries.frequencies.to_offset(value) if isinstance(value, str) else value
        # of pandas 3.0 a day is no duration
        value = pd.Timedelta(days=value.n) if isinstance(value, pd.offsets.Day) else value
        step: Any = pd.Timedelta(value).as_unit("ns")
    except (ValueError, TypeError, OverflowError):
        step = pd.NaT
    if step is pd.NaT or step <= pd.Timedelta(0):
        raise ArgumentValueError(
            f"{name} takes a step of one length, as in .{name}('h') or .{name}('15min'); for months write "
            ".dt.strftime('%Y-%m')"
        )
    return step  # type: ignore[no-any-return]


def _zone(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} takes the name of a time zone, as in .{name}('Europe/Berlin')")
    try:
        pd.DatetimeTZDtype("us", value)
    except (ValueError, KeyError, TypeError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise ArgumentValueError(
            f"{name}: {value[:40]!r} is no time zone: write one like 'UTC' or 'Europe/Berlin'"
        ) from None
    return value


def _placed(operand: Expression, tz: Any = None, ambiguous: Any = "NaT", nonexistent: Any = "NaT") -> Expression:
    if (ambiguous, nonexistent) != ("NaT", "NaT"):
        raise ArgumentValueError(
            "dt.tz_localize: hours that clocks show twice or never are missing: type 'NaT' for ambiguous and nonexistent"
        )
    return method("dt.tz_localize", operand, tz=None if tz is None else _zone("dt.tz_localize", tz))


TIME_METHODS: dict[str, Callable[..., Expression]] = {
    "dt.month_name": functools.partial(_name, "month", MONTHS, 1),
    "dt.day_name": functools.partial(_name, "day_of_week", DAYS, 0),
    "dt.total_seconds": _total_seconds,
    "dt.strftime": taking("dt.strftime", date_format=_written_format),
    "dt.normalize": lambda operand: method("dt.floor", operand, freq=pd.Timedelta(days=1)),
    **{f"dt.{name}": taking(f"dt.{name}", freq=_frequency) for name in ("floor", "ceil", "round")},
    "dt.tz_localize": _placed,
    "dt.tz_convert": taking("dt.tz_convert", tz=_zone),
}
PROPERTIES: dict[str, Callable[[Expression], Expression]] = {  # attributes that are not called
    **{f"dt.{name}": functools.partial(of_one, f"dt.{name}") for name in (*PARTS, *FLAGS, *SPANS)},
    **{f"dt.{alias}": functools.partial(of_one, f"dt.{name}") for alias, name in _ALIASES.items()},
}
