"""Cells of classes of their own that are text or numbers: read as their base."""

from __future__ import annotations

from typing import Any

BASES: dict[type, Any] = {str: str.__str__, int: int.__int__, float: float.__float__, complex: complex.__complex__}


def bare(cell: Any) -> Any:
    """Text or a number of a subclass, such as a member of an enumeration, as that of its base; any other cell as it is.

    Pandas makes columns of text and numbers of these, and of objects where one other cell is beside them. By the method of the
    base itself, so that no code of the subclass runs.
    """
    for base, plain in BASES.items():
        if issubclass(type(cell), base) and type(cell) is not bool:
            return plain(cell)
    return cell
