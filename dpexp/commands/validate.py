"""`dpexp validate`: what is wrong with configs, or what they say with every default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.commands.command_answer import Answer, Pathname
from dpexp.config.cells import Experiment
from dpexp.config.experiment_file import load_experiment, resolved_yaml
from dpexp.config.resources import require_room
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import USAGE, UsageError
from dpexp.core.text import counted, standard_json
from dpexp.problems.linear_predictor import LinearPredictorProblem


def validate(
    *configs: Pathname, set: Sequence[str] = (), replicates: int | None = None, profile: str = "paper",
    show: bool = False, schema: bool = False,
) -> Answer:  # fmt: skip
    """Whether each config is valid, and everything that is wrong with it, each with its place.

    `show` gives the configs with every default and every cell instead, `schema` the JSON schema of configs.
    """
    if schema:
        from dpexp.config.schema import json_schema

        return Answer(standard_json(json_schema()), json_schema())
    if not configs:
        raise UsageError("no config is named", "dpexp validate CONFIG, or --schema for the schema of configs")
    if show:
        experiments = [load_experiment(Path(config), set, replicates, profile) for config in configs]
        cells = [[{"cell_id": c.cell_id, "setting": c.setting(), **c.parameters} for c in e.cells] for e in experiments]
        documents = [{"experiment": e.name, "replicates": e.replicates, "cells": own}
                     for e, own in zip(experiments, cells, strict=True)]  # fmt: skip
        texts = (resolved_yaml(e) + "".join(f"# population: {line}\n" for line in _populations(e)) for e in experiments)
        return Answer("".join(texts).rstrip("\n"), documents if len(documents) > 1 else documents[0])
    lines, remarks, rows = list[str](), list[str](), []
    for path in map(Path, configs):
        issues, count = [], 0
        try:
            experiment = load_experiment(path, set, replicates, profile)
            # What is too large for this machine is refused before it is run.
            require_room(experiment)
            experiment.require_records()
            count = len(experiment.cells)
            notices = (*experiment.notices(own=True), *experiment.remarks())
            lines += [f"ok {path} ({counted(count, 'cell')})", *(f"    {notice}" for notice in notices)]
        except ConfigError as error:
            issues = error.issues
        remarks += map(str, issues)
        rows.append({"config": str(path), "valid": not issues, "cells": count, "issues": [
            {"where": str(issue.where), "line": issue.where.line or None, "message": issue.message,
             "hint": issue.hint or None} for issue in issues
        ]})  # fmt: skip
    return Answer("\n".join(lines), rows, USAGE if remarks else 0, remarks)


def _populations(experiment: Experiment) -> list[str]:
    """One line for every population: theta*, how it was computed, and how flat the risk is there."""
    from dpexp.problems.population_means import clipped_optimum, places_of

    lines = dict[str, None]()
    for problem, algorithm in ((cell.problem, cell.algorithm) for cell in experiment.cells):
        if not isinstance(problem, LinearPredictorProblem) or problem.population is None:
            continue
        own = problem.exact_sensitivity()
        noise, exact = algorithm.sensitivities(problem) if isinstance(algorithm, OnePassAlgorithm) else (own, own)
        optimum, curvature = ", ".join(f"{v:.4f}" for v in problem.optimum()), problem.curvature()
        text = f"theta* = {optimum}; Hessian eigenvalues {curvature.m:.4g} to {curvature.M:.4g}; "
        text += f"|w(x) x| <= {problem.law.weight.reach():.4f}; sensitivity {exact:.4f}"
        text += f"; {noise:.4f} sets the noise; " if noise != exact else "; "
        text += f"relative error of means over rows {places_of(problem).rows.error:.0e}"
        if problem.labels and isinstance(algorithm, ClippedLdpSgd):
            theta = ", ".join(f"{v:.4f}" for v in clipped_optimum(problem, algorithm.clip))
            text += f"; clipped to {algorithm.clip:g} the mean gradient is 0 at {theta}"
        lines[text] = None
    return list(lines)
