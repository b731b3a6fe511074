"""Cells that no program expects, for every dtype that can hold them, beside plain cells of the same dtype."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import types
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from support.unitless import FIVE, NO_DATE, NO_DURATION

ERRORS = (ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError, StopIteration)
DUNDERS = ("eq", "ne", "hash", "float", "int", "index", "bool", "len", "iter", "str", "repr", "lt", "array", "deepcopy")
SECRET = "secret42"


KILLING = {
    "tuple a million deep",
    "named tuple deep",
    "frozenset deep",
    "tuple twice itself",
    "record",
}  # who hashes them


def raising(name: str, bases: tuple[type, ...], dunders: tuple[str, ...], error: type[BaseException]) -> type:
    """A class whose own code raises."""

    def fail(*_: object) -> Any:
        raise error(SECRET)

    members: dict[str, Any] = {f"__{dunder}__": fail for dunder in dunders}
    if "eq" in dunders and "hash" not in dunders:
        members["__hash__"] = lambda self: hash("a")
    return type(name, bases, members)


class Meta(type):
    """A class of classes that cannot be looked up."""

    def __hash__(cls) -> int:
        raise KeyboardInterrupt(SECRET)

    def __eq__(cls, other: object) -> bool:
        raise SystemExit(SECRET)


class Looked(metaclass=Meta):
    """Of a class that cannot be looked up."""


class Liar:
    """Whose class, if asked, raises."""

    @property
    def __class__(self) -> Any:
        raise SystemExit(SECRET)


class Erratic:
    """Whose hash works every other time."""

    def __init__(self) -> None:
        self.asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        if self.asked % 2:
            return hash("a")
        raise ValueError(SECRET)


class Color(enum.Enum):
    """Members are keys like others."""

    RED = 1


class Level(enum.IntEnum):
    """Equal to numbers."""

    ONE = 1


class Zone(dt.tzinfo):
    """A time zone of one's own, whose rules fail."""

    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        raise KeyboardInterrupt(SECRET)


Pair = namedtuple("Pair", "a b")


def nested(wrap: Callable[[Any], Any], times: int, inner: Any = ()) -> Any:
    """Something within something else, so many times."""
    for _ in range(times):
        inner = wrap(inner)
    return inner


def deep_tuple() -> Any:
    """A tuple in a tuple, a million times, which Python's loop makes in no time."""
    inner: Any = ()
    for _ in range(10**6):
        inner = (inner,)
    return inner


def deep_list() -> Any:
    inner: Any = []
    for _ in range(10**6):
        inner = [inner]
    return inner


def endless() -> Iterator[int]:
    """Never ends."""
    while True:
        yield 1


@functools.cache
def odd_objects() -> dict[str, Any]:
    """Cells of dtype object."""
    itself: list[Any] = []
    itself.append(itself)
    of_itself: dict[str, Any] = {}
    of_itself["k"] = of_itself
    array = np.empty(1, dtype=object)
    array[0] = array
    plain = {
        "tuple a million deep": deep_tuple(),
        "list a million deep": deep_list(),
        "frozenset deep": nested(lambda t: frozenset([t]), 10**4),
        "named tuple deep": nested(lambda t: Pair(t, 1), 10**5),
        "alias deep": nested(lambda t: types.GenericAlias(list, (t,)), 1000, int),
        "tuple twice itself": nested(lambda t: (t, t), 60),
        "list of itself": itself,
        "tuple of a list of itself": (itself,),
        "dict of itself": of_itself,
        "array of itself": array,
        "huge integer": 10**5000,
        "wide integer": 2**70,
        "huge decimal": Decimal("1E+999999"),
        "signalling decimal": Decimal("sNaN"),
        "infinite decimal": Decimal("-Infinity"),
        "huge fraction": Fraction(10**400, 3),
        "long double": np.longdouble("1e4000"),
        "complex": complex(1.7e308, 1.7e308),
        "complex nan": complex("nan"),
        "long complex": np.clongdouble(1e300 + 1j),
        "half": np.float16("inf"),
        "nan": float("nan"),
        "infinity": float("inf"),
        "numpy text": np.str_("a"),
        "numpy bytes": np.bytes_(b"a"),
        "surrogate": "\ud800",
        "nul": "a\0b",
        "long text": "x" * 10**5,
        "bytes": b"\xff",
        "far date": np.datetime64("1000000-01-01"),
        "day": np.datetime64("2013-01-01"),
        "attoseconds": np.datetime64(1, "as"),
        "not a time": NO_DATE,
        "bare duration": FIVE,
        "year of months": np.timedelta64(1, "Y"),
        "not a duration": NO_DURATION,
        "record": np.array([(1, deep_tuple())], dtype=[("n", "i8"), ("o", "O")])[0],
        "first date": dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=14))),
        "last date": dt.date.max,
        "time": dt.time(1, tzinfo=Zone()),
        "date in a zone of its own": dt.datetime(2013, 1, 1, tzinfo=Zone()),
        "stamp": pd.Timestamp("2013-01-01", tz="Europe/Berlin"),
        "period": pd.Period("2013-01"),
        "interval": pd.Interval(0, 1),
        "missing": None,
        "NA": pd.NA,
        "NaT": pd.NaT,
        "array": np.array([1, 2]),
        "no dimension": np.array(1),
        "no rows": np.empty((0, 3)),
        "matrix": np.ones((2, 2)),
        "series": pd.Series([1]),
        "frame": pd.DataFrame({"a": [1]}),
        "empty list": [],
        "empty tuple": (),
        "many entries": tuple(range(20_000)),
        "set": {1},
        "generator": endless(),
        "function": endless,
        "class": Looked,
        "module": types,
        "enum": Color.RED,
        "number enum": Level.ONE,
        "ellipsis": ...,
        "not implemented": NotImplemented,
        "of a class that is not looked up": Looked(),
        "liar": Liar(),
        "erratic": Erratic(),
        "tuple of erratic": (Erratic(), 1),
    }
    whole = tuple(dunder for dunder in DUNDERS if dunder != "hash")
    for error in ERRORS:
        plain[f"raises {error.__name__}"] = raising("Odd", (), DUNDERS, error)()
        plain[f"equality raises {error.__name__}"] = raising("Odd", (), whole, error)()
    for base, value in ((float, 1.5), (float, float("nan")), (int, 3), (str, "a"), (bytes, b"a"), (tuple, (1,))):
        for dunders in (DUNDERS, whole):
            plain[f"{base.__name__} {value} {len(dunders)}"] = raising("Odd", (base,), dunders, KeyboardInterrupt)(
                value
            )
    for base, given in ((dt.datetime, (2013, 1, 1)), (dt.date, (2013, 1, 1)), (Decimal, ("1",)), (dt.timedelta, (1,))):
        plain[f"{base.__name__} {given}"] = raising("Odd", (base,), DUNDERS, SystemExit)(*given)
    plain["list of its own"] = raising("Odd", (list,), DUNDERS, SystemExit)([1, 2])
    plain["complex of its own"] = raising("Odd", (complex,), DUNDERS, SystemExit)(1j)
    return plain


def objects(cells: list[Any]) -> pd.Series:
    """A column of these objects, none of them looked at."""
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


def listed_with(known: list[Any], cell: Any) -> bool:
    """Whether pandas can list a cell as one more category."""
    try:
        return (
            not pd.isna(cell)
            and len(pd.Categorical.from_codes([0], pd.Index(objects([*known, cell]), dtype=object))) == 1
        )
    except BaseException:
        return False


@dataclass(frozen=True)
class Column:
    """How a column of a dtype is made of cells in the form that `make` takes; the first plain one is the usual one."""

    make: Callable[[list[Any]], pd.Series]
    plain: list[Any]
    odd: list[Any]

    def usual(self, rows: int) -> pd.Series:
        """Plain cells alone."""
        return self.make([self.plain[place % len(self.plain)] for place in range(rows)])

    def hostile(self, rows: int, which: int | None = None) -> pd.Series:
        """The same with all odd cells among them, or one; the last ones stay plain."""
        cells = [self.plain[place % len(self.plain)] for place in range(rows)]
        odd = self.odd if which is None else [self.odd[which % len(self.odd)]]
        cells[1 : 1 + len(odd)] = odd[: rows - 2]
        return self.make(cells)


def arrow(array: pa.Array) -> pd.Series:
    """A column of an array as it is."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


def of_bits(kind: pa.DataType) -> Callable[[list[int | None]], pd.Series]:
    """Values of fixed width by the integers that stand in memory, which nobody checks."""

    def make(cells: list[int | None]) -> pd.Series:
        width = kind.bit_width // 8
        bits = b"".join((cell or 0).to_bytes(width, "little", signed=True) for cell in cells)
        valid = pa.array([cell is not None for cell in cells]).buffers()[1]
        return arrow(pa.Array.from_buffers(kind, len(cells), [valid, pa.py_buffer(bits)]))

    return make


def of_bytes(kind: pa.DataType) -> Callable[[list[bytes | None]], pd.Series]:
    """Text by its bytes, which nobody checks."""
    raw = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()

    def make(cells: list[bytes | None]) -> pd.Series:
        plain = pa.array(cells, raw)
        return arrow(pa.Array.from_buffers(kind, len(cells), plain.buffers()))

    return make


def of_places(values: pa.Array) -> Callable[[list[int | None]], pd.Series]:
    """Dictionaries by places in them."""

    def make(cells: list[int | None]) -> pd.Series:
        return arrow(pa.DictionaryArray.from_arrays(pa.array(cells, pa.int8()), values))

    return make


def of_numpy(dtype: str, view: str | None = None) -> Callable[[list[Any]], pd.Series]:
    """Numbers of numpy, or what their bits stand for."""

    def make(cells: list[Any]) -> pd.Series:
        array = np.array(cells, dtype=dtype)
        return pd.Series(array if view is None else array.view(view))

    return make


def of_dtype(dtype: Any) -> Callable[[list[Any]], pd.Series]:
    return lambda cells: pd.Series(cells, dtype=dtype)


def masked(cells: list[float | None]) -> pd.Series:
    """Nullable numbers with NaN as a value."""
    values = np.array([np.nan if cell is None else cell for cell in cells])
    return pd.Series(pd.arrays.FloatingArray(values, np.array([cell is None for cell in cells])))


def zoned(unit: str, zone: Any) -> Callable[[list[int]], pd.Series]:
    """Dates with a time zone by their counts."""

    def make(cells: list[int]) -> pd.Series:
        counts = pd.Series(np.array(cells, dtype=np.int64).view(f"M8[{unit}]"))
        return counts.dt.tz_localize("UTC").dt.tz_convert(zone)

    return make


def categories(cells: list[Any]) -> pd.Series:
    """A column of categories of the objects that pandas can list."""
    listed: list[Any] = []
    codes = []
    for cell in cells:
        place = next((i for i, known in enumerate(listed) if known is cell), -1)
        if place < 0 and listed_with(listed, cell):
            listed.append(cell)
            place = len(listed) - 1
        codes.append(place)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(objects(listed), dtype=object)))


def held_as_text(cells: list[Any]) -> pd.Series:
    """Text in Python objects under a dtype that says Arrow holds it."""
    return pd.Series(pd.arrays.StringArray(objects(cells).to_numpy(copy=True)))


def spans(make: Callable[[list[Any]], pd.Series]) -> Callable[[list[Any]], pd.Series]:
    """Intervals that begin and end with the same cell."""

    def between(cells: list[Any]) -> pd.Series:
        ends = make(cells)
        return pd.Series(pd.arrays.IntervalArray.from_arrays(ends, ends, closed="both"))

    return between


def as_categories(column: Column) -> Column | None:
    """The same cells as categories, the odd ones as far as pandas can list them; None where it lists no plain ones."""

    def make(cells: list[Any]) -> pd.Series:
        return column.make(cells).astype("category")

    def lists(odd: list[Any]) -> bool:
        try:
            return len(make([*column.plain, *odd])) > 0
        except BaseException:  # of dates that overflow, text that is none, a hash that raises
            return False

    odd: list[Any] = []
    for cell in column.odd:
        odd += [cell] if lists([*odd, cell]) else []
    return Column(make, column.plain, odd) if odd and lists([]) else None


def labels() -> dict[str, Column]:
    """Labels of rows, of each dtype; `make` gives an index."""
    found = {
        name: Column(lambda cells, own=column: pd.Index(own.make(cells), copy=False), column.plain, column.odd)
        for name, column in columns().items()
        if name != "float16"  # which no index has
    }
    zone = columns()["datetime64[s, Europe/Berlin]"]
    found["several levels"] = Column(
        lambda cells: pd.MultiIndex.from_arrays([range(len(cells)), zone.make(cells)]), zone.plain, zone.odd
    )
    return found


LEAST, MOST = -(2**63), 2**63 - 1
SMALLEST, LARGEST = -(2**31), 2**31 - 1
COUNTS: list[Any] = [LEAST, LEAST + 1, MOST, MOST - 1, None, 0, -1, 86_399_999, 253_402_300_800, -62_135_596_801]
INSTANTS = [count for count in COUNTS if count is not None]
FLOATS = [np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 2.0**63]
BYTES = [b"\xff\xfe", b"\xed\xa0\x80", b"a\0b", b"", None, b"1e400", b" 12 ", "Straße".encode(), b"\xc3"]
BERLIN_DAY = 15_706 * 86_400


def decimals(width: int, scale: int) -> Column:
    kind = getattr(pa, f"decimal{width}")
    most = {32: 9, 64: 18, 128: 38, 256: 76}[width]
    extremes = [2 ** (width - 1) - 1, -(2 ** (width - 1)), None, 0, 10**most - 1, -1]
    return Column(of_bits(kind(most, scale)), [3, 7], extremes)


def every(kind: pa.DataType, plain: list[Any], odd: list[Any]) -> Column:
    return Column(lambda cells: arrow(pa.array(cells, kind)), plain, odd)


def dateutil_zone() -> Any:
    from dateutil import tz

    return tz.gettz("Europe/Berlin")


@functools.cache
def columns() -> dict[str, Column]:
    """A column of each dtype."""
    text, whole = [b"A", b"B"], [3, 7]
    found: dict[str, Column] = {
        "object": Column(objects, ["A", "B"], [*odd_objects().values()]),
        "object numbers": Column(objects, [3, 7], [*odd_objects().values()]),
        "object lists": Column(objects, [["A"], ["B", "A"]], [*odd_objects().values()]),
        "category": Column(
            categories, ["A", "B"], [cell for name, cell in odd_objects().items() if name not in KILLING]
        ),
        "str": Column(of_dtype("str"), ["A", "B"], ["a\0b", "", None, " 1e400", "x" * 1000]),
        "python text": Column(of_dtype("string[python]"), ["A", "B"], ["\ud800", "a\0b", None, "1" * 400]),
        "text said to be Arrow's": Column(
            held_as_text,
            ["A", "B"],
            ["\ud800", "a\0b", pd.NA, np.str_("a"), raising("Odd", (str,), DUNDERS, SystemExit)("a")],
        ),
        "bool": Column(of_numpy("u1", "?"), [0, 1], [2, 255]),
        "boolean": Column(of_dtype("boolean"), [True, False], [None]),
        "complex128": Column(of_numpy("complex128"), [1, 2], [np.nan, complex(1e308, 1e308)]),
        "longdouble": Column(of_numpy("longdouble"), [1, 2], [np.nan, np.longdouble("1e4000")]),
        "Float64": Column(masked, [3.0, 7.0], [*FLOATS, None]),
        "period": Column(of_dtype("period[M]"), [pd.Period("2013-01")], [pd.NaT, pd.Period("9999-12")]),
        "interval": Column(lambda cells: pd.Series(pd.arrays.IntervalArray(cells)), [pd.Interval(0.0, 1.0)], [np.nan]),
        "sparse": Column(lambda cells: pd.Series(pd.arrays.SparseArray(cells)), [1.0, 0.0], [np.nan, np.inf]),
        "null": every(pa.null(), [None], [None]),
        "halffloat": every(pa.float16(), [np.float16(3), np.float16(7)], [np.float16("nan"), np.float16("inf"), None]),
        "double": every(pa.float64(), [3.0, 7.0], [*FLOATS, None]),
        "binary": every(pa.binary(), text, [b"\xff", None, b""]),
        "fixed binary": every(pa.binary(2), [b"ab", b"cd"], [b"\xff\xff", None]),
        "string view": every(pa.string_view(), ["A", "B"], ["", None, "x" * 1000]),
        "binary view": every(pa.binary_view(), text, [b"\xff", None]),
        "list": every(pa.list_(pa.int64()), [[3], [7, 3]], [[], None, [None], [LEAST, MOST]]),
        "list of dates": Column(
            lambda cells: arrow(
                pa.ListArray.from_arrays(
                    pa.array(range(len(cells) + 1), pa.int32()), pa.array(cells, pa.int64()).view(pa.timestamp("s"))
                )
            ),
            [0, 1],
            COUNTS,
        ),
        "large list": every(pa.large_list(pa.string()), [["A"], ["B", "A"]], [[], None, [None]]),
        "fixed list": every(pa.list_(pa.int64(), 2), [[3, 7], [7, 3]], [None, [None, None]]),
        "struct": every(pa.struct({"a": pa.int64()}), [{"a": 3}, {"a": 7}], [None, {"a": None}]),
        "map": every(pa.map_(pa.string(), pa.int64()), [[("a", 3)], [("b", 7)]], [None, []]),
        "month day nano": every(
            pa.month_day_nano_interval(), [(1, 2, 3), (3, 2, 1)], [None, (SMALLEST, LARGEST, LEAST)]
        ),
        "run ends": Column(
            lambda cells: arrow(pa.RunEndEncodedArray.from_arrays([*range(1, 1 + len(cells))], pa.array(cells))),
            whole,
            [None, MOST],
        ),
        "uuid": Column(
            lambda cells: arrow(pa.ExtensionArray.from_storage(pa.uuid(), pa.array(cells, pa.binary(16)))),
            [b"a" * 16, b"b" * 16],
            [None, b"\xff" * 16],
        ),
        "dictionary": Column(of_places(pa.array(["A", "B", None, "", "A"])), [0, 1], [2, 3, 4, None]),
        "dictionary of numbers": Column(of_places(pa.array([3, 7, None, MOST, 3])), [0, 1], [2, 3, 4, None]),
        "dictionary of floats": Column(of_places(pa.array([3.0, 7.0, np.nan, None, np.inf])), [0, 1], [2, 3, 4, None]),
        "dictionary of bytes": Column(of_places(pa.array([b"A", b"B", b"\xff", None])), [0, 1], [2, 3, None]),
        "dictionary of broken text": Column(
            of_places(of_bytes(pa.string())([b"A", b"B", *BYTES]).array.__arrow_array__().chunk(0)),
            [0, 1],
            [2, 3, 5, 7],
        ),
        "dictionary of far dates": Column(
            of_places(pa.array([0, 1, LEAST, MOST, None], pa.int64()).view(pa.timestamp("s"))), [0, 1], [2, 3, 4, None]
        ),
        "dictionary of times": Column(
            of_places(pa.array([0, 1, LEAST, MOST], pa.int64()).view(pa.time64("us"))), [0, 1], [2, 3, None]
        ),
        "zone of dateutil": Column(zoned("us", dateutil_zone()), [0, 86_400], INSTANTS),
        "zone of its own": Column(zoned("us", dt.timezone(dt.timedelta(hours=3), "nowhere")), [0, 86_400], INSTANTS),
        "zone nobody knows": Column(of_bits(pa.timestamp("us", "Nowhere/Nobody")), [0, 1], COUNTS),
        "date32": Column(of_bits(pa.date32()), [15_706, 15_707], [SMALLEST, LARGEST, None, -1]),
        "date64": Column(of_bits(pa.date64()), [BERLIN_DAY * 1000, 0], COUNTS),
    }
    arrow_names = {"int64": "int64", "uint64": "uint64", "float32": "float", "float64": "double"}
    for name in ("int8", "int64", "uint64", "float16", "float32", "float64"):
        floats = name.startswith("f")
        limits: Any = np.finfo(name) if floats else np.iinfo(name)
        odd = [limits.min, limits.max, 0, *([np.nan, np.inf, -np.inf] if floats else [])]
        found[name] = Column(of_numpy(name), whole, odd)
        if name in arrow_names:
            found[f"{name}[pyarrow]"] = Column(
                of_dtype(f"{arrow_names[name]}[pyarrow]"), whole, [None, odd[0].item() if floats else odd[1]]
            )
    for name in ("Int64", "UInt64"):
        ends = np.iinfo(name.lower())
        found[name] = Column(of_dtype(name), whole, [ends.min, ends.max, None])
    for unit in ("s", "us", "ns"):
        scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        days = [BERLIN_DAY * scale, (BERLIN_DAY + 86_400) * scale]
        found[f"datetime64[{unit}]"] = Column(of_numpy("int64", f"M8[{unit}]"), days, INSTANTS)
        found[f"timedelta64[{unit}]"] = Column(of_numpy("int64", f"m8[{unit}]"), [60 * scale, 0], INSTANTS)
        found[f"datetime64[{unit}, Europe/Berlin]"] = Column(zoned(unit, "Europe/Berlin"), days, INSTANTS)
        found[f"datetime64[{unit}, +03:00]"] = Column(zoned(unit, dt.timezone(dt.timedelta(hours=3))), days, INSTANTS)
        found[f"spans of datetime64[{unit}, Europe/Berlin]"] = Column(
            spans(zoned(unit, "Europe/Berlin")), days, INSTANTS
        )
        found[f"timestamp[{unit}]"] = Column(of_bits(pa.timestamp(unit)), days, COUNTS)
        found[f"timestamp[{unit}, Asia/Tokyo]"] = Column(of_bits(pa.timestamp(unit, "Asia/Tokyo")), days, COUNTS)
        found[f"duration[{unit}]"] = Column(of_bits(pa.duration(unit)), [60 * scale, 0], COUNTS)
        narrow = unit in ("s", "ms")
        time = pa.time32(unit) if narrow else pa.time64(unit)
        found[f"time[{unit}]"] = Column(of_bits(time), [0, 1], [SMALLEST, LARGEST, None] if narrow else COUNTS)
    for kind in (pa.string(), pa.large_string()):
        found[f"{kind} by bytes"] = Column(of_bytes(kind), text, BYTES)
    widths = {32: 9, 64: 18, 128: 38, 256: 76}
    for width, most in ((w, most) for w, most in widths.items() if hasattr(pa, f"decimal{w}")):  # old Arrow lacks two
        for scale in (2, most, -most - 1) if width < 128 else (-most, most, most + 1):
            found[f"decimal{width} of scale {scale}"] = decimals(width, scale)
    listed = {
        f"category of {name}": as_categories(column)
        for name, column in found.items()
        if name not in ("category", "object", "object numbers", "object lists")
    }
    return found | {name: column for name, column in listed.items() if column is not None}
