"""The commands that ask questions of a file: ``pandas-dp query`` for one, ``pandas-dp run`` for those of a plan."""
