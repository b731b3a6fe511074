"""Protected tables: which rows a query may read, held in memory, in files or by the workers of Dask."""
