"""Where the tests of a module are: the files that a person would run first after an edit of it."""

from __future__ import annotations

HOMES: dict[str, str] = {
    "algorithms/batch_descent": "algorithms_momentum estimates",
    "algorithms/clipped_ldp_sgd": "algorithms_one_pass",
    "algorithms/covering": "coverage estimates inference_in_step",
    "algorithms/dp_sgld": "privacy_targets softmax_runs",
    "algorithms/finite_sum_run": "algorithms_momentum estimates",
    "algorithms/heavy_ball_ldp_sgd": "algorithms_one_pass",
    "algorithms/one_pass": "algorithms_one_pass estimates",
    "algorithms/path_intervals": "inference_in_step coverage",
    "algorithms/private_momentum": "algorithms_momentum",
    "algorithms/reduced_momentum": "algorithms_momentum privacy_iterates",
    "algorithms/schedules": "algorithms_ldp_sgd algorithms_momentum",
    "algorithms/softmax_runs": "batches_by_epochs sharing estimates softmax_runs",
    "algorithms/staged_newton": "inference_in_step coverage",
    "algorithms/tree_momentum": "algorithms_momentum",
    "algorithms/tuned": "tuned",
    "algorithms/watched_messages": "audit_faults",
    "engine/finite_sum/losses": "finite_sums algorithms_momentum",
    "engine/finite_sum/normals": "engine_normals algorithms_momentum",
    "engine/finite_sum/window_operator": "engine_momentum_noise privacy_iterates algorithms_momentum",
    "engine/finite_sum": "engine_momentum_noise algorithms_momentum privacy_trees",
    "engine/lanes/internals": "engine_internals dependencies",
    "engine/lanes/streams": "engine_streams",
    "engine/lanes": "engine_lanes engine_tiles engine_streams",
    "engine/linear": "algorithms_ldp_sgd algorithms_one_pass",
    "engine/softmax": "engine_softmax softmax_variants sharing batches_by_epochs softmax_runs",
    "engine": "engine_identity engine_compiled",
    "papers/ldp_sgd/predictions": "theory_bounds advice",
    "privacy/accounting/conversions": "privacy_users privacy_accountants",
    "privacy/accounting/epoch_losses": "batches_by_epochs privacy_random_allocation",
    "privacy/accounting/langevin_run": "privacy_targets privacy_sampling_statements",
    "privacy/accounting/sampled_gaussian": "privacy_conventions privacy_accountants",
    "privacy/accounting/tradeoff": "privacy_tradeoff",
    "privacy/accounting": "privacy_tilted privacy_loss_distributions",
    "privacy/analyses": "privacy_accountants privacy_targets",
    "privacy/attained": "privacy_last_iterate privacy privacy_accountants privacy_every_sampling",
    "privacy/audit": "audit audit_faults",
    "privacy/budgets": "privacy_ledger algorithms_ldp_sgd advice",
    "privacy/exact": "privacy_exact_laws",
    "privacy/judge": "judge",
    "privacy/mechanisms/langevin": "theory_dp_sgld privacy_mechanisms privacy_targets",
    "privacy/mechanisms": "privacy_mechanisms privacy_sampling_statements columns",
    "privacy/momentum": "privacy_trees privacy_iterates",
    "privacy/pairs": "privacy_pairs",
    "problems/canaries": "audit",
    "problems/finite_sum": "finite_sums estimates",
    "problems/nonconvex_linear": "finite_sums",
    "problems/robust_means": "finite_sums",
    "problems/softmax": "sharing estimates model softmax_runs",
    "problems": "problems algorithms_one_pass",
    "reporting/checks": "checks",
    "reporting/slopes": "slopes",
    "store/stats": "stats",
    "store": "store stats runner",
    "theory/dp_sgld": "theory_dp_sgld",
    "theory/ldp_sgd": "theory theory_table1 theory_bounds",
    "theory/momentum": "theory_momentum",
    "theory": "theory_registry checks",
}
"""module, or the beginning of its path -> test files; the first entry that fits counts"""


def home(path: str) -> list[str]:
    """Test files of a module of dpexp, likeliest first."""
    inside = path.removeprefix("dpexp/")
    found = next((names for start, names in HOMES.items() if inside.startswith(start)), "")
    return [f"tests/test_{name}.py" for name in found.split()]
