"""What arguments are called elsewhere."""

from __future__ import annotations

_OTHER_NAMES = {
    "epsilon": "eps budget total privacy_budget",
    "neighbors": "neighbours neighbor neighbour relation adjacency",
    "bounds": "range limits clip clipping lower upper min_value max_value",
    "bins": "edges buckets",
    "keys": "categories values labels groups",
    "unit": "user user_id id privacy_unit unit_column privacy_id person people individual patient customer by group",
    "max_rows": "max_contributions max_contribution contributions contribution_bound cap rows_per_unit max_rows_per_unit",
    "max_groups": "l0 l0_sensitivity max_partitions max_partitions_contributed max_groups_contributed",
    "max_rows_per_group": "linf linf_sensitivity max_contributions_per_partition max_rows_per_partition",
    "k": "n n_clusters clusters",
    "blocks": "n_blocks partitions",
    "within": "error accuracy",
    "confidence": "level",
    "rho": "zcdp mu gdp",
    "sensitivity": "l1 l1_sensitivity l2 l2_sensitivity delta_f global_sensitivity",
}
OTHER_NAMES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
RELATIONS = {"bounded": "replace_one", "replace": "replace_one", "substitute": "replace_one", "unbounded": "add_remove"}
LEVELS = ("confidence", "level")  # which are 1 - alpha
