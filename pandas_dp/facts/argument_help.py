"""Calls that Python itself would refuse: arguments by place that go by name, misspelt and missing ones, in plain words.

And guides of one page: what ``help`` shows of an object instead of every method of its class.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from importlib.resources import files
from operator import attrgetter
from types import FunctionType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.advice import Refused, show_line
from pandas_dp.facts.call import Call
from pandas_dp.facts.misfits import misfit
from pandas_dp.facts.public_only import QUICK, check_all_typed, comparable, refuse_private
from pandas_dp.facts.repriced import plain_too

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

PLAIN = {  # what annotations say of an argument that is text or a number
    "str": ("a text", "'...'"),
    "int": ("a whole number", "10"),
    "float": ("a number", "0.5"),
    "bool": ("True or False", "True"),
}


class Line(NamedTuple):
    """What to type instead; of arguments that a question lacks also their names and how one types them: its call has the rest.

    Those that are typed as no text are left out.
    """

    text: str
    needs: tuple[tuple[str, str], ...] = ()
    otherwise: str = ""
    priced: tuple[str, Mapping[str, str]] | None = (
        None  # what of that is the call at another price, and how that is typed
    )

    def refuse(self, why: str, kind: type[PandasDPError] = ArgumentTypeError) -> PandasDPError:
        """An error that says why and shows the line; `explain` has it show the one that was typed, and what it lacks."""
        error = kind(f"{why}: {self.text}{self.otherwise}")
        error._needs = (why, self.needs, self.otherwise) if self.needs else None
        error._priced = self.priced
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
    own = dict(list(parameters.items())[1:])  # without self
    first = int("self" in parameters)

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if typed:
                given = (*zip(names[first:], args[first:], strict=False), *kwargs.items())
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
            try:
                with suppress(Exception):  # an argument may be anything: what was refused is told in any case
                    if args and hasattr(args[0], "_frame"):
                        show_line(error, Refused(method.__name__, own, args[0], args[1:], kwargs))
                        if isinstance(error, ArgumentTypeError | ArgumentValueError) and not error._plain:
                            error.args = (plain_too(str(error), method.__name__, args[0]),)
                    if error._unknown is not None and args and (late := getattr(args[0], "_late", None)) is not None:
                        error.args = (late(error._unknown) or str(error),)
            finally:
                # tools that show the locals of a traceback, as loggers of errors do, would show the table
                traceback.clear_frames(error.__traceback__)
                del args, kwargs
            raise
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:  # raised by the method itself
                raise
            told = str(error)  # Python names arguments, and no value
            with suppress(Exception):
                told = plain_too(misfit(method, args, kwargs, line), method.__name__, args[0] if args else None)
            del args, kwargs
        raise ArgumentTypeError(told)

    return call


def letting_go(method: Callable[P, R]) -> Callable[P, R]:
    """Make an operator, such as brackets, hold nothing that it was given once it refuses, as `explain` does: masks are rows."""

    @functools.wraps(method)
    def operator(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except PandasDPError as error:
            traceback.clear_frames(error.__traceback__)
            del args, kwargs
            raise

    return operator


def _twin(asked: Any, call: Call, parameters: dict[str, inspect.Parameter]) -> Any:
    """What is asked, for the time of one call: the same object, that knows how it was called."""
    twin = object.__new__(type(asked))
    names, values = _slots(type(asked))  # type: ignore[arg-type]  # a class can be hashed
    for name, value in zip(names, values(asked), strict=True):
        setattr(twin, name, value)
    twin._call = call, parameters
    return twin


@functools.cache
def _slots(cls: Hashable) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Names of all that an object of a class holds, and what takes it out of one at once."""
    names = tuple(name for base in inspect.getmro(cls) for name in vars(base).get("__slots__", ()))  # type: ignore[arg-type]
    return names, attrgetter(*names)


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
        if type(value) in QUICK or name not in plain:
            return value
        if not comparable(value):
            raise ArgumentTypeError(f"{plain[name].partition(': ')[0]}: {line}" if line else plain[name])
        return str.__str__(value) if isinstance(value, str) else value

    placed = tuple(checked(name, value) for name, value in zip(names, args, strict=False))
    return placed + args[len(placed) :], {name: checked(name, value) for name, value in given.items()}


class Guide:
    """The docstring of a class, for whose objects it is the page ``help.txt`` beside its module: pydoc shows that alone.

    Examples
    --------
    >>> class Empty:
    ...     pass
    >>> Empty.__doc__ = Guide("A class.", "pandas_dp.questions")
    >>> Empty.__doc__, Empty().__doc__.splitlines()[0]
    ('A class.', 'Questions at one price: each call pays it, and gives an answer that is safe to publish.')
    """

    def __init__(self, of_class: str | None, package: str) -> None:
        self._of_class, self._package = of_class, package

    def __get__(self, thing: object, kind: type | None = None) -> str | None:
        """The docstring of the class itself, or the page."""
        return self._of_class if thing is None else files(self._package).joinpath("help.txt").read_text("utf-8")
