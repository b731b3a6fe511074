"""Floats as edges are looked at all at once, and are the edges that they are one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts import binning
from pandas_dp.facts.kinds import Kind


@pytest.mark.parametrize(
    "edges",
    [
        [0.0, 1.0, 2.0],
        [-0.0, 1.0],
        [0.1, 0.2, 5.0],
        [-(2.0**53) + 1, 2.0**53 - 1],
        [-(2.0**53), 2.0**53, 2.0**60],
        [0.5, 2.0**53],
        [1e-300, 1e300],
    ],
)
def test_floats_are_what_they_are_one_by_one(edges):
    exact = [Kind("number").number(edge, "bins") for edge in edges]
    whole = all(edge.denominator == 1 and abs(edge) < 2**63 for edge in exact)
    for given in (edges, np.array(edges), pd.Index(edges)):
        found, _ = binning.bins(given, False, False, Kind("number"), "histogram", "x")
        assert [*map(repr, found.edges)] == [repr(int(edge) if whole else float(edge)) for edge in exact]


def test_floats_are_not_looked_at_one_by_one(monkeypatch):
    """A million of them take a quarter of a second that way."""
    monkeypatch.setattr(binning, "all", lambda values: pytest.fail("one by one"), raising=False)
    binning.bins(np.arange(1000) / 8, False, False, Kind("number"), "histogram", "x")


@pytest.mark.parametrize("edges", [[-5, 0, 2**62], [-(2**63) + 1, 2**63 - 1], [-(2**63), 0], [0, 2**63], [-1, 2**64]])
def test_integers_are_what_they_are_one_by_one(edges):
    whole = all(abs(edge) < 2**63 for edge in edges)
    for given in (edges, np.array(edges)) if edges[0] >= -(2**63) and edges[-1] < 2**63 else (edges,):
        found, _ = binning.bins(given, False, False, Kind("number"), "histogram", "x")
        assert [*map(repr, found.edges)] == [repr(edge if whole else float(edge)) for edge in edges]


@pytest.mark.parametrize("edges", [np.arange(1000), np.arange(1000) / 8, pd.Index(np.arange(1000))])
def test_edges_of_an_array_are_looked_at_all_at_once(monkeypatch, edges):
    monkeypatch.setattr(binning, "map", lambda *_: pytest.fail("one by one"), raising=False)
    found, labels = binning.bins(edges, False, False, Kind("number"), "histogram", "x")
    assert found.edges == labels.edges == tuple(edges.tolist())


@pytest.mark.parametrize("edges", [np.ma.masked_array([0, 1, 2], [0, 1, 0]), np.array([[0, 1], [2, 3]])])
def test_arrays_of_other_forms_are_no_edges(edges):
    with pytest.raises(ArgumentTypeError, match="bins must be a number"):
        binning.bins(edges, False, False, Kind("number"), "histogram", "x")
