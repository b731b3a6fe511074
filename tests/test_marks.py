"""What plain pytest leaves to the slow tests: of a product of arguments it runs cases that meet each of them."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

LISTS = [pytest.mark.parametrize("name", range(7)).mark, pytest.mark.parametrize(("form", "way"), [(0, 0)] * 5).mark]


def case(at: int) -> Any:
    """The item that pytest makes of a case: it numbers those of a product one by one, the last list first."""
    return SimpleNamespace(
        iter_markers=lambda _: LISTS, callspec=SimpleNamespace(indices=dict.fromkeys(("name", "form", "way"), at))
    )


@pytest.mark.parametrize("n", [2, 3, 5])
def test_one_case_in_n_meets_every_argument_of_each_list(n, request):
    (place,) = {own.place for own in request.config.pluginmanager.get_plugins() if hasattr(own, "place")}
    kept = [both for at, both in enumerate(product(range(7), range(5))) if place(case(at)) % n == 0]
    assert len(kept) in (35 // n, 35 // n + 1)
    assert [{both[i] for both in kept} for i in (0, 1)] == [{*range(7)}, {*range(5)}]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", range(4))
@pytest.mark.parametrize("form", range(2))
def test_the_others_are_slow(name, form, request):
    """As pytest counts them, too: what a later one numbers in another way would be told here."""
    slow = request.node.get_closest_marker("slow") is not None
    assert slow == ((name + form) % 3 > 0)
