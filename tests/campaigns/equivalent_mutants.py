"""Mutants that change nothing which a test could tell, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "dpexp/reporting/slopes.py",
        "slope = float(weights @ np.log(mean))",
        "slope = (weights @ np.log(mean))",
    ): "numpy's float64 is a float, with the same value and the same text",
    (
        "dpexp/engine/linear/rule.py",
        "theta, *others = map(np.float64, (0.5, 1.0, 0.1, 0.2))",
        "theta, *others = map(np.float64, (0.5, 1.0, 0.12, 0.2))",
    ): "the update is tried for the type of what it returns, and any numbers serve",
    (
        "dpexp/engine/linear/one_pass.py",
        "np.append(np.asarray(steps, np.int64), -1),",
        "np.append(np.asarray(steps, np.int64), -2),",
    ): "the end of the checkpoints is marked by a number that no step has, and steps are not negative",
    (
        "dpexp/algorithms/gradient_recursion.py",
        "return Plan(n, 1.0, eta, self.gamma or min(0.5, problem.smoothness * eta / problem.lipschitz))",
        "return Plan(n, 1.2, eta, self.gamma or min(0.5, problem.smoothness * eta / problem.lipschitz))",
    ): "a plan has a weight of the newest gradient for the two algorithms of single records; this one never reads it",
    (
        "dpexp/privacy/exact/composition.py",
        "p2 = 2 * float(np.sum(np.minimum(1.0, size_of + e_max) ** (2.0 * (self.steps - 1))))",
        "p2 = 2 * (np.sum(np.minimum(1.0, size_of + e_max) ** (2.0 * (self.steps - 1))))",
    ): "numpy's float64 is a float, with the same value",
    (
        "dpexp/privacy/momentum/difference_bound.py",
        "if (count + size) / sharp < gap * float(costs @ x):",
        "if (count + size) / sharp < gap * (costs @ x):",
    ): "numpy's float64 is a float, and compares like one",
    (
        "dpexp/store/stats.py",
        "mean_a, mean_b = float(a.mean()), float(b.mean())",
        "mean_a, mean_b = float(a.mean()), (b.mean())",
    ): "numpy's float64 is a float, with the same value and the same text",
    (
        "dpexp/privacy/accounting/tilted.py",
        "back = per_transform * math.sqrt(2 * float(np.sum(sizes**2)) / size)",
        "back = per_transform * math.sqrt(3 * float(np.sum(sizes**2)) / size)",
    ): "a larger bound on rounding is a bound too, and nothing says that this one is sharp",
    (
        "dpexp/algorithms/staged_newton.py",
        "for talk, pilot, budget in zip(staged, pilots, budgets, strict=True):",
        "for talk, pilot, budget in zip(staged, pilots, budgets, strict=False):",
    ): "all three lists have one entry for each setting, made two lines above",
    (
        "dpexp/engine/lanes/streams.py",
        "_SIGN = np.uint64(0x8000000000000000)",
        "_SIGN = np.uint64(9223372036854775809)",
    ): "what it masks was shifted by 61 or 62 places, so that the lowest bit is 0 whatever the mask has there",
    (
        "dpexp/engine/finite_sum/window_operator.py",
        "if t <= 3 * n:",
        "if t <= 3:",
    ): "places of no node: `apply` sets them to 0 itself before it reads them, and nothing else reads them",
    (
        "dpexp/engine/softmax/loop.py",
        "return _followed(features, labels, runs, batches, batch_size, noise, checkpoints, averaging=False).last",
        "return _followed(features, labels, runs, batches, batch_size, noise, checkpoints, averaging=True).last",
    ): "averages are kept beside the iterates and never read by a step: the last iterates have the same bits",
    (
        "dpexp/privacy/accounting/tradeoff.py",
        "while best >= _START * step and top + 2 * best * unit > LEAST_LOG and value(2 * best) > value(best):",
        "while best >= _START and top + 2 * best * unit > LEAST_LOG and value(2 * best) > value(best):",
    ): "each place is a valid lower limit, and it is doubled only where that is larger: a search from elsewhere",
    (
        "dpexp/privacy/accounting/tradeoff.py",
        "return 1 / (1 + math.exp(-logit)) if logit > -30 else math.exp(logit)",
        "return 1 / (1 + math.exp(-logit)) if logit > -31 else math.exp(logit)",
    ): "between the two the formulas differ by a relative e^-30, which is 1e-13: the choice only avoids overflow",
    (
        "dpexp/privacy/mechanisms/noisy_sgd.py",
        'without = 1 - per_record * others if removed and self.sampling == "full-batch" else c',
        'without = 1 - per_record * others if removed or self.sampling == "full-batch" else c',
    ): "a replaced record of a full batch is always met, and of a fixed size the others are the whole batch: it is c",
    (
        "dpexp/algorithms/finite_sum_run.py",
        "return 8 * (12 * n + 8 * records * d + 2 * records * (d + 2) + 4 * 8192 * d + 20 * d)",
        "return 9 * (12 * n + 8 * records * d + 2 * records * (d + 2) + 4 * 8192 * d + 20 * d)",
    ): "an estimate that is an eighth larger has room for the run as well, and nothing says that it is sharp",
    (
        "dpexp/algorithms/softmax_runs.py",
        "size = float(np.sum(np.square(weights, dtype=np.float64)))",
        "size = (np.sum(np.square(weights, dtype=np.float64)))",
    ): "numpy's float64 is a float, with the same value",
}
"""(file, line before, line after) -> why no test can notice it"""

THEORY: dict[tuple[str, str, str], str] = {
    (
        "dpexp/theory/ldp_sgd/linearised.py",
        "modes_of",
        "1.2e-09",
    ): "below which difference eigenvalues count as one mode: "
    "modes that are so near have the same moments in all digits that are shown",
    ("dpexp/theory/ldp_sgd/psi.py", "psi", "1.2e-12"): "where one formula takes over from the other; they agree there",
    (
        "dpexp/theory/ldp_sgd/sandwich.py",
        "spectral_norm",
        "best - 0",
    ): "the iteration is never stopped early; it takes longer",
    ("dpexp/theory/ldp_sgd/sandwich.py", "spectral_norm", "1.2"): "an axis, of which numpy's norm takes the whole part",
    ("dpexp/theory/ldp_sgd/theorem3.py", "_kernel", "1.2"): "the first step, which numba takes as a whole number",
    ("dpexp/theory/ldp_sgd/linearised.py", "_kernel", "1.2"): "the first step, which numba takes as a whole number",
    (
        "dpexp/theory/dp_sgld/ridge.py",
        "Ridge.records",
        "0 + 0.5 * rng.standard_normal(self.n)",
    ): "an example: any records serve",
    ("dpexp/theory/dp_sgld/ridge.py", "Ridge.records", "0.6"): "an example: any records serve",
    (
        "dpexp/theory/dp_sgld/ridge.py",
        "Ridge.records",
        "x @ rng.standard_normal(self.d) + 0",
    ): "an example: any records serve",
}
"""(file, function, what the changed part becomes) -> why no test and no claim can notice it"""
