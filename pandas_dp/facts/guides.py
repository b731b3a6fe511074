"""Guides of one page: what ``help`` shows of an object instead of every method of its class."""

from __future__ import annotations

from importlib.resources import files


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
