"""Calls that Python itself would refuse: arguments by place that go by name, misspelt and missing ones, in plain words."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from pandas_dp.errors import ArgumentTypeError, PandasDPError, did_you_mean
from pandas_dp.facts.call import Call, safe
from pandas_dp.facts.public_only import EXAMPLES, check_all_typed, comparable, refuse_private

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_OTHER_NAMES = {
    "epsilon": "eps budget total privacy_budget",
    "neighbors": "neighbours neighbor neighbour relation",
    "bounds": "range limits clip clipping lower upper min_value max_value",
    "bins": "edges buckets",
    "keys": "categories values labels groups",
    "unit": "user user_id id privacy_unit",
    "k": "n n_clusters clusters",
    "blocks": "n_blocks partitions",
    "within": "error accuracy",
    "confidence": "level alpha",
}
OTHER_NAMES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
_OF_PANDAS = {  # options that answer another question here, or that nothing needs
    "dropna": "missing values count nowhere unless null=True counts them as a key of their own",
    "skipna numeric_only": "missing values are always left out of what is asked about their column, so leave it out",
    "as_index observed group_keys": "every listed group comes back in the index; .reset_index() makes it a column",
    "ascending": "the answer is sorted afterwards, for nothing: .sort_values()",
    "freq": "months are bins: bins=pd.period_range('2013-01', '2013-12', freq='M')",
    "aggfunc": "a two-way table of means or sums is .pivot_table('cost', 'ward', 'sex', aggfunc='sum', ...)",
}
OF_PANDAS = {option: hint for options, hint in _OF_PANDAS.items() for option in options.split()}
PLAIN = {  # what annotations say of an argument that is text or a number
    "str": ("a text", "'...'"),
    "int": ("a whole number", "10"),
    "float": ("a number", "0.5"),
    "bool": ("True or False", "True"),
}
AT_ONCE = {str, int, float, bool, type(None)}  # of which nobody needs to ask whether they can be compared


class Line(NamedTuple):
    """What to type instead; of an argument that a question lacks also its name and how one types it: its call has the rest."""

    text: str
    name: str = ""
    typed: str = ""
    otherwise: str = ""

    def refuse(self, why: str, kind: type[PandasDPError] = ArgumentTypeError) -> PandasDPError:
        """An error that says why and shows the line; `explain` has it show the one that was typed, and what it lacks."""
        error = kind(f"{why}: {self.text}{self.otherwise}")
        error._needs = (why, self.name, self.typed, self.otherwise) if self.name else None
        return error


def uncopied(held: Any) -> Any:
    """Refuse, as ``__reduce__`` of what holds a table: a pickle would carry its rows away."""
    raise TypeError(
        f"a {type(held).__name__} cannot be pickled or copied; ask the frame: df.dp, or keep a pandas_dp.query()"
    )


def explain(cls: type[T], public: bool = False) -> type[T]:
    """Make the public methods of a class say what to type where their arguments do not fit, and refuse NumPy's scalars.

    Where `public`, they put questions: all arguments are public facts, and nothing is accepted for one that is protected or was
    made of what is. The call is recorded, and the method gets a twin of its object that knows it.
    """
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and (not name.startswith("_") or name == "__call__"):
            setattr(cls, name, _explained(member, "", True, public))
    return cls


def explained(method: Callable[P, R]) -> Callable[P, R]:
    """Make one method say what to type where its arguments do not fit, and refuse NumPy's scalars."""
    return _explained(method, "", True)


def example(line: str, typed: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function, or the class of an ``__init__``, name this line where its arguments do not fit.

    Where `typed`, its arguments become part of a question, and NumPy's scalars are refused.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        if not isinstance(function, type):
            return _explained(function, line, typed)
        made: Any = function
        made.__init__ = _explained(inspect.unwrap(made.__init__), line)  # not under the line of a base class
        return function

    return wrap


def _explained(method: Callable[P, R], line: str, typed: bool = False, public: bool = False) -> Callable[P, R]:
    parameters = inspect.signature(method).parameters
    # what stands too far is refused by Python
    names = tuple(name for name, other in parameters.items() if other.kind is not other.KEYWORD_ONLY)
    plain = {name: example for name, other in parameters.items() if (example := _plain(other)) is not None}
    # agg says itself how it is written
    open_ended = any(other.kind is other.VAR_KEYWORD for other in parameters.values())
    own = dict(list(parameters.items())[1:])  # without self

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if typed:
                given = (*zip(names, args, strict=False), *kwargs.items())
                check_all_typed("df.dp" if method.__name__ == "__call__" else method.__name__, given)
                if public:
                    refuse_private(method.__name__, given)
                del given
            args, kwargs = _at_the_door(plain, line, names, args, kwargs)
            if public and args and hasattr(type(args[0]), "_call"):
                # neither twin nor record is a local: tools that show those would show the table, and what outlives the call
                return method(_twin(args[0], Call(method.__name__, args[1:], kwargs), own), *args[1:], **kwargs)  # type: ignore[arg-type]
            return method(*args, **kwargs)
        except PandasDPError as error:
            if error._needs is not None and args and hasattr(args[0], "_before") and not open_ended:
                why, *missing, otherwise = error._needs
                needing = Call(method.__name__, args[1:], kwargs).needing(plain, *missing)
                error.args = (f"{why}: {args[0]._before}{needing}{otherwise}",)
            if error._unknown is not None and args and (late := getattr(args[0], "_late", None)) is not None:
                error.args = (late(error._unknown) or str(error),)
            # tools that show the locals of a traceback, as loggers of errors do, would show the table
            traceback.clear_frames(error.__traceback__)
            del args, kwargs
            raise
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:  # raised by the method itself
                raise
            told = _advice(method, args, kwargs, line)
            del args, kwargs
        raise ArgumentTypeError(told)

    return call


def _twin(asked: Any, call: Call, parameters: dict[str, inspect.Parameter]) -> Any:
    """What is asked, for the time of one call: the same object, that knows how it was called."""
    twin = object.__new__(type(asked))
    for name in _slots(type(asked)):  # type: ignore[arg-type]  # a class can be hashed
        setattr(twin, name, getattr(asked, name))
    twin._call = call, parameters
    return twin


@functools.cache
def _slots(cls: Hashable) -> tuple[str, ...]:
    """Names of all that an object of a class holds."""
    return tuple(name for base in inspect.getmro(cls) for name in vars(base).get("__slots__", ()))  # type: ignore[arg-type]


def _plain(parameter: inspect.Parameter) -> str | None:
    """What an argument has to be that is a text, a number or nothing, and how it is typed; None for any other one."""
    kinds = [kind for kind in str(parameter.annotation).split(" | ") if kind != "None"]
    if not kinds or not all(kind in PLAIN for kind in kinds):
        return None
    if parameter.name == "expr":
        return "expr must be a text: .query('age > 40'); expressions and functions go into .filter(pd.col('age') > 40)"
    takes, typed = PLAIN[kinds[0]]
    default = typed if parameter.default in (None, parameter.empty) else repr(parameter.default)
    return f"{parameter.name} must be {takes}: {parameter.name}={default}"


def _at_the_door(
    plain: dict[str, str], line: str, names: tuple[str, ...], args: tuple[Any, ...], given: dict[str, Any]
) -> tuple[Any, Any]:
    """Arguments as a call may use them, where a text, a number or nothing is asked for.

    A text is one of Python's own: what inherits from it may be written down in another way than it is read again, as numpy's
    is in a ledger. What cannot be compared is refused: it would be neither one of the words that a call knows nor none of them.
    """

    def checked(name: str, value: Any) -> Any:
        if type(value) in AT_ONCE or name not in plain:
            return value
        if not comparable(value):
            raise ArgumentTypeError(f"{plain[name].partition(': ')[0]}: {line}" if line else plain[name])
        return str.__str__(value) if isinstance(value, str) else value

    placed = tuple(checked(name, value) for name, value in zip(names, args, strict=False))
    return placed + args[len(placed) :], {name: checked(name, value) for name, value in given.items()}


def _advice(method: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any], example: str) -> str:
    """Say what is wrong with arguments that do not fit, and what to type: of a function, the line that is its example."""
    signature = inspect.signature(method)
    known, name, before = list(signature.parameters.values()), method.__name__, ""
    if known and known[0].name == "self":
        name = {"__call__": "df.dp", "__init__": type(args[0]).__name__}.get(name, name)
        before, known, args = getattr(args[0], "_before", "") if args else "", known[1:], args[1:]
    names = [parameter.name for parameter in known]
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known)
    for unknown in given:
        if unknown not in names and not open_ended:
            return f"{name}() takes {_instead(name, unknown, names, example)}"
    placed = [parameter for parameter in known if parameter.kind is not parameter.KEYWORD_ONLY]
    named = [parameter.name for parameter in known if parameter.kind is parameter.KEYWORD_ONLY]
    free = [other for other in named if other not in given]
    if len(args) > len(placed) and placed and placed[-1].name == "columns" and isinstance(args[len(placed)], str):
        return f"{name}() takes columns as one list: {name}([{', '.join(map(safe, args[len(placed) - 1 :]))}])"
    if len(args) > len(placed) and free:
        written = Call(name, args[: len(placed)], {}).needing((), free[0], EXAMPLES.get(free[0], "..."))
        typed = example or f"{before}{written}"
        return f"{name}() takes {free[0]} by name: {typed}"
    plain = [parameter.replace(annotation=parameter.empty) for parameter in known]
    line = example or f"{name}{signature.replace(parameters=plain, return_annotation=signature.empty)}"
    for parameter in known[len(args) :]:
        if parameter.default is parameter.empty and parameter.name not in given:
            if parameter.name in named and parameter.name in EXAMPLES and not example:  # what stands by place is there
                line = before + Call(name, args, given).needing((), parameter.name, EXAMPLES[parameter.name])
            elif parameter.name == "columns" and "bounds" in names and "k" not in names and not example:
                line = f"{name}(['age', 'cost'], bounds={{'age': (0, 120), 'cost': (0, 5000)}})"
            return f"{name}() needs {parameter.name}: {line}"
    return f"{name}() was given arguments that do not fit: {line}"


def _instead(name: str, unknown: str, names: list[str], example: str) -> str:
    """What a call takes instead of an argument that it does not know."""
    right = OTHER_NAMES.get(unknown, unknown)
    if right in names:
        typed = example or f"{name}(..., {right}={EXAMPLES.get(right, '...')})"
        return f"{right}=, not {unknown}=: {typed}"
    if name == "extend" and right in ("epsilon", "delta"):
        term, total = ("to", "6") if right == "epsilon" else ("to_delta", "1e-6")
        return f"the new total as {term}=, not {unknown}=: session.extend({term}={total}, reason='...')"
    if unknown == "fresh":
        return f"no fresh=: it goes beside the price: df.dp(epsilon=1, fresh=True).{name}(...)"
    if right == "epsilon" and not example:
        return f"no {unknown}=: the price comes first, df.dp(epsilon=0.5).{name}(...)"
    if unknown in OF_PANDAS:
        return f"no {unknown}=: {OF_PANDAS[unknown]}"
    close = did_you_mean(unknown, names)
    takes = f"; it takes {', '.join(f'{other}=' for other in names)}" if names and not close else ""
    return f"no {unknown}={close}{takes}{f': {example}' if example else ''}"
