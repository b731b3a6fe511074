"""The benchmark runs by its one command, prints every line of its table and keeps the run as JSON."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(tmp_path: Path, *options: str) -> tuple[str, dict]:
    out = tmp_path / "run.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--rows", "1000", "--calls", "50", "--out", str(out), *options],
        cwd=ROOT, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text())


def names(kept: dict, part: str) -> set[str]:
    return {row["name"] for row in kept["rows"] if row["part"] == part}


@pytest.fixture(scope="module")
def ratios(tmp_path_factory):
    return run(tmp_path_factory.mktemp("ratios"), "--only", "ratios:")


@pytest.mark.slow
def test_every_question_stands_cold_and_warm_beside_pandas_and_the_fastest(ratios):
    _, kept = ratios
    expected = {
        "count", "sum float", "sum int", "mean float", "mean float, 10 % nulls", "mean float32", "mean int", "var float",
        "histogram, 10 int bins", "histogram, 50 float bins", "histogram, strings", "histogram, category", "mode, strings",
        "mode, category", "median", "five quantiles", "grouped mean, strings", "grouped mean, category",
        "mean by two keys, strings", "mean by two keys, category", "groupby_mean_sa, strings", "groupby_mean_sa, category",
        "unit count, dense ids", "unit count, sparse ids", "unit mean, dense ids", "unit mean, sparse ids",
        "5 random rows, median, dense ids", "5 random rows, median, sparse ids", "5 random rows, histogram, dense ids",
        "5 random rows, histogram, sparse ids",
    }  # fmt: skip
    assert names(kept, "ratios") == expected
    for row in kept["rows"]:
        assert row["size"] == 1000
        assert {"cpu_ms", "wall_ms", "plain_cpu_ms", "wall_x", "fastest", "fastest_x"} <= row["figures"].keys()
        assert row["value"] == pytest.approx(row["figures"]["cpu_ms"] / row["figures"]["plain_cpu_ms"])
    for name in expected:
        states = [row["state"] for row in kept["rows"] if row["name"] == name]
        assert states in (["cold", "warm"], ["cold", "cold", "warm", "warm"])


@pytest.mark.slow
def test_a_verdict_follows_from_the_floor_and_small_tables_are_not_judged(ratios):
    _, kept = ratios
    for row in kept["rows"]:
        floor = row["floor"]
        expected = "" if floor is None else "met" if row["value"] <= floor else "small"
        assert row["verdict"] == expected
    assert {row["floor"] for row in kept["rows"] if row["name"] == "sum float"} == {1.5, 0.4}


@pytest.mark.slow
def test_the_table_has_a_line_for_each_row(ratios):
    printed, kept = ratios
    assert "missed" in printed
    for row in kept["rows"]:
        assert re.search(
            rf"^{re.escape(row['name'])}\s+{row['state']}\s+1,000 .*{re.escape(row['against'])}", printed, re.M
        )


@pytest.mark.slow
def test_the_file_says_what_ran_and_nothing_about_whose_machine(ratios):
    _, kept = ratios
    assert kept.keys() == {"date", "machine", "versions", "options", "rows"}
    assert kept["machine"].keys() <= {"cores", "cpu", "memory_gib"}
    assert {"python", "pandas", "numpy", "pyarrow", "pandas-dp"} == kept["versions"].keys()
    assert kept["options"] == {"only": ["ratios:"], "rows": [1000], "calls": 50, "quick": True}


@pytest.mark.slow
def test_the_other_parts(tmp_path):
    _, kept = run(
        tmp_path, "--only", "fixed:", "noise:", "growth:", "cores:", "memory: mean float32", "memory: unit count, sp"
    )
    fixed = names(kept, "fixed")
    assert {f"ten rows: {name}" for name in ("count", "sum", "mean", "median", "mode", "top_k", "best_price")} <= fixed
    assert {"ledger on disk", "last call over first", "sample_and_aggregate, a block", "import pandas_dp"} <= fixed
    noise = names(kept, "noise")
    assert {f"discrete {law}, scale 1e{k}" for law in ("Laplace", "Gaussian") for k in (-3, 0, 3, 6, 9, 12)} <= noise
    assert {"permute-and-flip, alike", "noise of many bins", "histogram of many bins"} <= noise
    growth = [row for row in kept["rows"] if row["part"] == "growth"]
    assert {row["name"].split(":")[0] for row in growth} == {"queries", "nights", "rows", "groups", "bins", "units"}
    assert all(len(row["figures"]["slopes"]) == len(row["figures"]["sizes"]) - 1 for row in growth)
    assert len(names(kept, "cores")) == 9
    if Path("/proc/self/clear_refs").exists():
        assert names(kept, "memory") == {"mean float32", "unit count, sparse ids"}


@pytest.mark.slow
def test_whether_intervals_hold(tmp_path):
    """All kinds of lines, each with its limit: of few draws a right one may be missed."""
    _, kept = run(tmp_path, "--only", "coverage:")
    lines = names(kept, "coverage")
    assert {"mean, n=500, eps=1, replace_one", "var, n=500, eps=1, public n, Gaussian", "count, eps=3"} <= lines
    assert {line.split(":")[0].split(",")[0] for line in lines} == {
        "mean", "var", "std", "mean of equal values", "any interval", "empty", "count", "public n", "caution", "quantile",
        "min", "max", "private bounds",
    }  # fmt: skip
    for row in kept["rows"]:
        missed = "MISSED" if row["judged"] else "small"
        assert row["verdict"] == ("met" if row["value"] <= row["floor"] else missed)
    assert sum(row["unit"] == "% miss" for row in kept["rows"]) > len(kept["rows"]) / 3


@pytest.mark.slow
def test_the_parts_for_large_tables(tmp_path):
    _, kept = run(tmp_path, "--only", "scans: mean", "scans: sizes", "cluster: mean", "--big", "10000")
    assert kept["options"]["big"] == 10_000
    against = {f"read its {read}, pandas, {clock}" for read in ("table", "column") for clock in ("CPU", "wall")}
    against |= {f"Arrow's own answer, {clock}" for clock in ("CPU", "wall")}
    against |= {"whole process"} if Path("/proc/self/clear_refs").exists() else set()
    against |= {"plain Dask, wall"} if importlib.util.find_spec("distributed") else set()
    large = [row for row in kept["rows"] if row["part"] in ("scans", "cluster")]
    assert {row["against"] for row in large} == against
    assert {row["size"] for row in large} == {10_000}


@pytest.mark.slow
def test_the_comparison_with_other_libraries_runs_with_this_one_alone(tmp_path):
    out = tmp_path / "peers.json"
    options = ["--rows", "1000", "--turns", "1", "--seconds", "0.01", "--error-rows", "0", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "peers.py", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())["time 1000"]["pandas_dp"]["found"]
    assert len(found) == 14
    for name, costs in found.items():
        assert costs.keys() == {"cpu", "plain", "first"}
        assert f"| {name} | " in done.stdout
    assert "missed: none" in done.stdout
