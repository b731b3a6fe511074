"""The bundled tables are what their README says they are."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd
import pyarrow.parquet as pq
import pytest

from pandas_dp import datasets

FOLDER = files("pandas_dp.datasets")

ADULT_DTYPES = {
    "age": "int64",
    "workclass": "str",
    "education": "str",
    "education_num": "int64",
    "marital_status": "str",
    "occupation": "str",
    "relationship": "str",
    "race": "str",
    "sex": "str",
    "capital_gain": "int64",
    "capital_loss": "int64",
    "hours_per_week": "int64",
    "native_country": "str",
    "income": "str",
}
FLIGHTS_DTYPES = {
    "dep_time": "float64",
    "sched_dep_time": "int64",
    "dep_delay": "float64",
    "arr_delay": "float64",
    "carrier": "str",
    "flight": "int64",
    "tailnum": "str",
    "origin": "str",
    "dest": "str",
    "air_time": "float64",
    "distance": "int64",
    "time_hour": "datetime64[us]",
}
ADULT_NULLS = {"workclass": 2799, "occupation": 2809, "native_country": 857}
FLIGHTS_NULLS = {"dep_time": 1782, "dep_delay": 1782, "arr_delay": 1946, "tailnum": 601, "air_time": 1946}


@pytest.fixture(scope="module")
def adult() -> pd.DataFrame:
    return datasets.load_adult()


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    return datasets.load_flights()


@pytest.fixture(scope="module", params=["adult", "flights"])
def table(request: pytest.FixtureRequest) -> pd.DataFrame:
    return request.getfixturevalue(request.param)


def dtypes(frame: pd.DataFrame) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}


def nulls(frame: pd.DataFrame) -> dict[str, int]:
    return {name: int(count) for name, count in frame.isna().sum().items() if count}


def test_adult_has_the_documented_columns_rows_and_nulls(adult: pd.DataFrame) -> None:
    assert list(adult.columns) == list(ADULT_DTYPES)
    assert dtypes(adult) == ADULT_DTYPES
    assert len(adult) == 48_842
    assert nulls(adult) == ADULT_NULLS


def test_flights_has_the_documented_columns_rows_and_nulls(flights: pd.DataFrame) -> None:
    assert list(flights.columns) == list(FLIGHTS_DTYPES)
    assert dtypes(flights) == FLIGHTS_DTYPES
    assert len(flights) == 51_955
    assert nulls(flights) == FLIGHTS_NULLS


def test_index_is_a_plain_range(table: pd.DataFrame) -> None:
    pd.testing.assert_index_equal(table.index, pd.RangeIndex(len(table)), exact=True)


def test_texts_are_trimmed_and_missing_is_never_a_text(table: pd.DataFrame) -> None:
    for name, texts in table.select_dtypes("str").items():
        present = texts.dropna()
        assert (present == present.str.strip()).all(), name
        assert not present.isin(["", "?", "NA", "NaN", "nan", "None"]).any(), name


def test_adult_values_lie_in_the_documented_ranges(adult: pd.DataFrame) -> None:
    assert adult["income"].value_counts().to_dict() == {"<=50K": 37_155, ">50K": 11_687}
    assert set(adult["sex"]) == {"Female", "Male"}
    limits = {
        "age": (17, 90),
        "education_num": (1, 16),
        "capital_gain": (0, 99_999),
        "capital_loss": (0, 4_356),
        "hours_per_week": (1, 99),
    }
    assert {name: (adult[name].min(), adult[name].max()) for name in limits} == limits


def test_adult_education_num_orders_education(adult: pd.DataFrame) -> None:
    levels = adult[["education", "education_num"]].drop_duplicates().set_index("education_num")["education"]
    assert sorted(levels.index) == list(range(1, 17))
    assert levels.is_unique
    assert (levels[1], levels[16]) == ("Preschool", "Doctorate")


def test_an_aircraft_has_many_rows(flights: pd.DataFrame) -> None:
    rows = flights["tailnum"].value_counts()
    assert (len(rows), rows.min(), rows.median(), rows.max()) == (3_424, 1, 10, 137)


def test_flights_without_an_aircraft_never_left(flights: pd.DataFrame) -> None:
    assert flights.loc[flights["tailnum"].isna(), "dep_time"].isna().all()


def test_flight_hours_are_local_and_within_two_months(flights: pd.DataFrame) -> None:
    hours = flights["time_hour"]
    assert hours.dt.to_period("M").value_counts().to_dict() == {
        pd.Period("2013-01"): 27_004,
        pd.Period("2013-02"): 24_951,
    }
    # Only on the wall clock of the airport is the hour that of the planned departure.
    assert (hours.dt.hour == flights["sched_dep_time"] // 100).all()
    assert (hours == hours.dt.floor("h")).all()


@pytest.mark.parametrize("load", [datasets.load_adult, datasets.load_flights])
def test_each_call_returns_a_frame_of_its_own(load) -> None:
    first = load()
    column = first.columns[0]
    first[column] = 0
    assert not load()[column].eq(0).all()


@pytest.mark.parametrize("name", ["adult.parquet", "flights.parquet"])
def test_files_are_zstd_compressed(name: str) -> None:
    with (FOLDER / name).open("rb") as file:
        metadata = pq.ParquetFile(file).metadata
        codecs = {
            metadata.row_group(group).column(column).compression
            for group in range(metadata.num_row_groups)
            for column in range(metadata.num_columns)
        }
    assert codecs == {"ZSTD"}


def test_files_stay_small() -> None:
    sizes = {item.name: len(item.read_bytes()) for item in FOLDER.iterdir() if item.name.endswith(".parquet")}
    assert set(sizes) == {"adult.parquet", "flights.parquet"}
    assert sum(sizes.values()) < 2_000_000


def test_licences_travel_with_the_data() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    attribution = ["Becker, B. and Kohavi, R.", "10.24432/C5XW20", "licenses/by/4.0/", "**Changes.**"]
    for phrase in [*attribution, "CC0 1.0"]:
        assert phrase in readme
