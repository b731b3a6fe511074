"""Statistics: which exact integers are needed, and how far one unit can move them. One file each."""
