"""Row-wise preparation: the changes of a table that keep its privacy guarantee."""
