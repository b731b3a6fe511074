"""Two small public tables, bundled for examples, tests and notebooks.

``load_adult`` has one row per person, so the privacy unit is the row. In ``load_flights`` an aircraft
(``tailnum``) has many rows, so the privacy unit is a column and contributions have to be bounded.

Both tables have been public for years: their exact rows, counts and means tell nothing new, which is why
examples may compare a noisy answer with the exact one. Never do so with data that are to be protected.
Origin, licence and every change made to the sources are in the ``README.md`` next to the data.
"""

from __future__ import annotations

from importlib.resources import as_file, files

import pandas as pd

from pandas_dp.errors import misspelt
from pandas_dp.tables import readers

__all__ = ["load_adult", "load_flights"]
__getattr__ = misspelt(__name__, __all__)


def load_adult() -> pd.DataFrame:
    """Persons of the 1994 US census survey, one row each: the "Adult" data of Becker and Kohavi.

    Returns
    -------
    pandas.DataFrame, shape (48842, 14)
        In order: ``age`` (years), ``workclass``, ``education``, ``education_num`` (the same levels, 1 to 16),
        ``marital_status``, ``occupation``, ``relationship`` (to the householder), ``race``, ``sex``,
        ``capital_gain`` and ``capital_loss`` (US dollars a year), ``hours_per_week`` (hours),
        ``native_country``, ``income`` (``"<=50K"`` or ``">50K"``, US dollars a year). Numbers are ``int64``,
        the rest is ``str``. Every call reads the file anew and returns a new frame.

    Notes
    -----
    ``workclass``, ``occupation`` and ``native_country`` have missing values; no other column has. The source
    codes large numbers from the top: nobody is older than 90, works over 99 hours or gains over 99999.

    References
    ----------
    Becker, B. and Kohavi, R. (1996). Adult [Dataset]. UCI Machine Learning Repository.
    https://doi.org/10.24432/C5XW20. Licensed under CC BY 4.0; changed, see the README in this folder.

    Examples
    --------
    >>> from pandas_dp import datasets
    >>> adult = datasets.load_adult()
    >>> adult.shape
    (48842, 14)
    >>> adult[["age", "education", "hours_per_week", "income"]].head(3)
       age   education  hours_per_week income
    0   25        11th              40  <=50K
    1   38     HS-grad              50  <=50K
    2   28  Assoc-acdm              40   >50K
    """
    return _read("adult.parquet")


def load_flights() -> pd.DataFrame:
    """Flights that were to leave New York City in January and February 2013; one aircraft has many rows.

    Returns
    -------
    pandas.DataFrame, shape (51955, 12)
        In order: ``dep_time`` and ``sched_dep_time`` (actual and planned departure, read off a clock: 1745
        is a quarter to six in the evening), ``dep_delay`` and ``arr_delay`` (minutes, negative when early),
        ``carrier``, ``flight`` (number), ``tailnum`` (the aircraft), ``origin`` and ``dest`` (airport codes),
        ``air_time`` (minutes), ``distance`` (miles), ``time_hour`` (planned departure cut to the hour,
        New York wall clock, ``datetime64[us]`` without a zone). Columns with missing numbers are ``float64``,
        other numbers ``int64``, texts ``str``. Every call reads the file anew and returns a new frame.

    Notes
    -----
    Nulls are left in. Cancelled flights have no ``dep_time`` and ``dep_delay``; those and diverted flights
    have no ``arr_delay`` and ``air_time``. Some cancelled flights have no ``tailnum``: rows without a privacy
    unit, as they occur in practice.

    References
    ----------
    Wickham, H., nycflights13: Flights that Departed NYC in 2013 (CC0), with data of the US Bureau of
    Transportation Statistics. Changed, see the README in this folder.

    Examples
    --------
    >>> from pandas_dp import datasets
    >>> flights = datasets.load_flights()
    >>> flights.shape
    (51955, 12)
    >>> flights[["time_hour", "carrier", "tailnum", "dest", "dep_delay"]].head(3)
                time_hour carrier tailnum dest  dep_delay
    0 2013-01-01 05:00:00      UA  N14228  IAH        2.0
    1 2013-01-01 05:00:00      UA  N24211  IAH        4.0
    2 2013-01-01 05:00:00      AA  N619AA  MIA        2.0
    >>> int(flights["tailnum"].value_counts().max())  # rows of the busiest aircraft
    137
    """
    return _read("flights.parquet")


def _read(name: str) -> pd.DataFrame:
    """Return the bundled Parquet file ``name`` as a new frame with pandas' default dtypes."""
    with as_file(files(__name__) / name) as path:  # of a package in a zip archive a copy
        return readers.read(pd.read_parquet, path, {}, public=True)  # type: ignore[no-any-return]
