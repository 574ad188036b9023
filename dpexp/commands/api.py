"""Configs and fits from Python, by the code of their commands."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpexp.commands.command_answer import Pathname
from dpexp.core.errors import PrivateWarning

if TYPE_CHECKING:
    from dpexp.commands.fit_result import FitResult
    from dpexp.config.cells import Experiment

    Config = Experiment | Mapping[str, Any] | str | os.PathLike[str]


def load(
    config: Config, *, set: Sequence[str] = (), replicates: int | None = None,
    profile: Literal["paper", "smoke"] = "paper",
) -> Experiment:  # fmt: skip
    """The experiment of a config: a file, `@NAME` of a shipped one, or its sections as a dict.

    `set` changes values as `--set` does: ["run.n=1000"]. Raises ConfigError with everything that is wrong.
    """
    from dpexp.config.cells import Experiment
    from dpexp.config.experiment_file import load_experiment, read_experiment
    from dpexp.core.text import yaml_in_line

    # Changes are read with the config, and would be lost on what is read already.
    if isinstance(config, Experiment):
        if set or replicates is not None or profile != "paper":
            raise TypeError("this experiment is loaded: give set, replicates and profile to the call that loads it")
        return config
    if isinstance(config, Mapping):
        # Through the reader of files, so that a dict has the same checks, defaults and messages.
        text = "".join(f"{key}: {yaml_in_line(builtin(value, key))}\n" for key, value in config.items())
        return read_experiment(text, "dict", set, replicates, profile)
    return load_experiment(os.fspath(config), set, replicates, profile)


def fit(
    data: object, *, target: str = "", formula: str | None = None, model: str = "huber-linear",
    mu: float | None = None, mu_column: str | None = None, eps: float | None = None,
    delta: float | None = None, central: bool | None = None, method: str | None = None,
    public: Pathname | Mapping[str, object] | None = None, level: float = 0.95, person: str | None = None,
    deployment: bool = False, seed: int | None = None, out: Pathname | None = None, again: bool = False,
    weights: Literal["budget", "equal"] = "budget", contrasts: Sequence[str] = (), plan: int | None = None,
) -> FitResult:  # fmt: skip
    """Private regression with confidence intervals on a table of your own; a deployment keeps it in `out`.

    `data` is a path, a frame of pandas, polars or pyarrow, a Series, a mapping of columns or an array [n, k] (columns
    x[0], x[1] and so on); `public` a path, or a mapping with the keys of such a file. With `plan`, a number of records,
    no record is read and `data` may be None. The other options are those of the command: target, formula, model, mu,
    mu_column, eps, delta, central, method, level, person, deployment, seed, again, weights, contrasts. What an owner
    should know about the table, such as how many records cannot be read, is a warning; it is private.
    """
    from dpexp.commands import fit as command
    from dpexp.commands.fit_request import Request

    source = Path(data) if isinstance(data, str | os.PathLike) else data
    inputs = command.read_public(Path(public) if isinstance(public, str | os.PathLike) else public)
    report = command.fit(Request(
        source, target, formula, model, mu, mu_column, eps, delta, central, method, inputs, level, person,
        plan is not None, plan, deployment, seed, Path(out) if out else None, again, weights, tuple(contrasts),
    ))  # fmt: skip
    for remark in report.remarks:
        warnings.warn(remark, PrivateWarning, stacklevel=2)
    return report


def builtin(value: Any, where: str) -> Any:
    """A value as YAML has it: numbers of numpy and fractions as Python's, arrays and ranges as lists.

    Raises ConfigError that names the key of a value of another type.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        if isinstance(value, range):
            return list(value)
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, Real):
            return float(value)
        raise TypeError(f"a {type(value).__name__}")

    try:
        return json.loads(json.dumps(value, default=plain))
    except (TypeError, ValueError, RecursionError) as error:
        from dpexp.config.yamlfile import ConfigError, Issue, Position  # loads yaml, which a good value does not need

        hint = "give numbers, text, lists and dicts, as in a file"
        raise ConfigError([Issue(Position("dict"), f"{where}: a config cannot hold {error}", hint)]) from None
