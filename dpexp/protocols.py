"""The seams of dpexp: every kind of thing that can be added, what it offers, and who asks for it.

Read this page before you add something. Two of the kinds are interfaces, defined here: a class is a `Problem` or an
`Algorithm` by having the members below. Whoever inherits from `dpexp.problems.problem.ProblemBase` or
`dpexp.algorithms.algorithm.AlgorithmBase` gets the members marked "default" and the fields of a config. The other kinds
are concrete classes. They are defined in the module named here and only re-exported for type hints:

kind       defined in                            what one is, and who asks for its members
Schedule   dpexp.schedules                       a base class, a rule for the step sizes
    name              its name in a config; asked by the reader
    step_sizes        the sizes of some steps [steps]; asked by algorithms that take one step for every user or batch
    step_size         the one size of all steps; asked by the algorithms on finite sums; default: refused
    for_losses        the schedule for losses of known curvature; asked by the softmax algorithms; default: itself
Budget     dpexp.privacy.budgets                 a base class, the law of the users' budgets mu_i, or a target
    label             a short name; asked by tables, figures and messages
    constant          the mu that all users share, or None; asked by algorithms, mechanisms and tables; default: None
    target            (eps, delta) where that was asked for, or None; asked by algorithms; default: None
    largest           the largest mu; asked by mechanisms: it bounds what everything released gives away
    smallest          the smallest mu; asked by the printed bounds of `ldp-sgd`
    mean_inverse_square   the mean of 1 / mu_i^2; asked by predictions: noise power is proportional to it
    draw              the budgets of some users from their uniform numbers; asked by the engine
Mechanism  dpexp.privacy.mechanisms.mechanism    a base class, what is released with which noise, as plain parameters
    noise_field       the parameter that `dpexp calibrate` solves for
    noise_for_all_steps   whether its noise is set for all steps together; asked by `dpexp check`; default: False
    more_noise_is_larger  whether that parameter grows with the noise; asked by `dpexp calibrate`; default: True
    neighboring_relation  which data sets count as neighbours; asked by every privacy statement; default: replace-one
    scheme            how records meet the steps; asked by every privacy statement; default: every record once
    analyses          every analysis that applies, the refused ones with their reason; asked by every privacy statement
    lower_bounds      what pairs of neighbours attain; asked by `dpexp privacy`; default: none
    describe          who is protected and what is released, in sentences; asked by every privacy statement
Analysis   dpexp.privacy.analyses.analysis       a value, one upper bound on the privacy loss of one mechanism
    name, source      what it is called, and where it comes from
    released          what it covers: all iterates, or the last one alone
    eps               epsilon as a function of delta; asked by statements, calibration and algorithms that set noise
    assumptions       what has to hold
    rdp, mu           Renyi divergence by order and Gaussian-DP parameter, where there is one; default: None
    refused           why it is no guarantee here; default: empty, it is one
    remark            what is worth knowing of a guarantee; stands where the reason of a refusal would; default: empty
    per_user          quantiles of what single users give away, where budgets differ; default: None
Theorem    dpexp.theory.theorem                  a value, one statement of a paper as a pure function of plain numbers
    paper, place      which statement it is
    form              as printed, or completed where the print is undefined or does not follow
    kind, quantity, estimator   what it bounds or prescribes; asked by `dpexp.reporting.checks.bound_holds`
    assumes, valid    when it may be trusted
    function          the function; its parameters are looked up by name in a dictionary of numbers
Figure     dpexp.reporting.figure                a value, asked by `dpexp plot`
    name, caption, paper, place   what it is called and what it shows
    needs             the experiments whose stored results it reads
    draw              the drawing and the numbers in it, from the folder of results; it never simulates
Table      dpexp.reporting.table                 a value, asked by `dpexp table`
    name, title, paper   what it is called
    needs             the experiments whose stored results it reads
    build             the text and the numbers of it, from the folder of results; it never simulates
    names_its_parameters   whether its note holds the parameters of its experiments; default: no, captions add them
Claim      dpexp.reporting.claim                 a value, a sentence of a paper and what settles it; asked by `claims`
    id, place, statement, kind   which sentence it is
    experiments       the experiments whose stored results the check reads; empty where theory alone settles it
    check             the verdict and its numbers, from `dpexp.reporting.evidence.Evidence`
    sabotage          evidence made wrong, which the check must notice; asked by `dpexp check`; default: none
    tolerance, expected, why     what counts as agreement, and which verdict we expect for which reason
Paper      dpexp.reporting.paper                 a value, all of one reproduction; asked by `dpexp.papers` and plug-ins
    id, title, authors   what it is called everywhere
    claims, figures, tables, configs   what belongs to it; default: none
    overlays          figures that can also be drawn with theory laid over them; default: none
    theory            what it predicts of cells of any experiment; asked by the figures of any result; default: none
Plugin     dpexp.plugin                          a value, everything that one file outside the package adds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

    from dpexp.engine.result import Passed
    from dpexp.plugin import Plugin
    from dpexp.privacy.analyses.analysis import Analysis
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.mechanism import Mechanism
    from dpexp.reporting.claim import Claim
    from dpexp.reporting.figure import Figure
    from dpexp.reporting.paper import Paper
    from dpexp.reporting.table import Table
    from dpexp.schedules import Schedule
    from dpexp.theory.theorem import Theorem

__all__ = [
    "Algorithm",
    "Analysis",
    "Budget",
    "Claim",
    "Figure",
    "Mechanism",
    "Named",
    "Paper",
    "Plugin",
    "Problem",
    "Released",
    "Schedule",
    "Table",
    "Theorem",
]


class Named(Protocol):
    """A value that a config names. It is frozen and inherits from `dpexp.core.parameters.Parameters`."""

    @property
    def name(self) -> str:
        """What the config calls it."""

    def model_dump(self, *, exclude_defaults: bool = False) -> dict[str, Any]:
        """Its parameters by name, or those alone that differ from their defaults. `Parameters` has it."""


class Problem(Named, Protocol):
    """What is learnt from which data.

    Algorithms ask a problem for more than this, and each says by `runs_on` of which classes: those on fresh users need
    a `dpexp.problems.linear_predictor.LinearPredictorProblem`, those on a finite sum a
    `dpexp.problems.finite_sum.FiniteSum`, those on labelled records a `dpexp.problems.softmax.Softmax`.
    """

    def memory(self) -> int:
        """Bytes of the data that are kept. Asked by `dpexp.config.resources`; default 0."""

    def prepare(self) -> None:
        """Read what has to be read. Raises UsageError, which the reader places in the config; default: nothing."""

    def notices(self) -> Sequence[str]:
        """What is said of the data in `validate`, `run` and `privacy`; default: nothing."""

    def files(self) -> Mapping[str, str]:
        """The user's own data files, path -> hash. Asked by `dpexp.store.fingerprint`; default: none."""


class Released(Protocol):
    """What an algorithm's run releases, as a privacy statement needs it; asked by `run` and `privacy`."""

    @property
    def neighboring_relation(self) -> str: ...

    @property
    def sampling(self) -> str:
        """How records meet the steps."""

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns of cells.parquet: the noise, epsilon at each delta, and by which analysis. Asked by `store.rows`."""

    def analyses(self) -> Sequence[Analysis]:
        """Every analysis, refused ones included with their reason. Asked by `dpexp.reporting.statement`."""

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""


class Algorithm(Named, Protocol):
    """An update rule, what it remembers, and the mechanism that it is.

    `Any` stands for the problems that it runs on: the reader has checked `runs_on` before it calls a method, so an
    algorithm writes its own class of problems there.
    """

    estimators: ClassVar[tuple[str, ...]]
    """what is measured at every checkpoint: an iterate, an average; the second axis of `Passed.values`"""
    metrics: ClassVar[tuple[str, ...]]
    """the numbers that are kept of every estimator; the fourth axis of `Passed.values`"""
    runs_on: ClassVar[tuple[type, ...]]
    """classes of problems; checked by the reader, so the methods may rely on it"""
    schedules: ClassVar[tuple[str, ...]]
    """names of the schedules that it takes; the first is the default where `power` is not among them"""
    smoke_size: ClassVar[tuple[int, int]]
    """steps and replicates of `--profile smoke`; default (2000, 8)"""

    def steps(self, problem: Any, schedule: Schedule, budget: Budget) -> int | None:
        """The number of steps where the config leaves out `run.n`. Asked by the reader; default None: it must say."""

    def complaints(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What is wrong with a setting, in words; default: nothing. Asked by the reader, so by every command."""

    def seconds(self, problem: Any, n: int) -> float:
        """Estimated time of one replicate of one setting. Asked by `run --dry-run` and `dpexp.config.resources`."""

    def memory(self, problem: Any, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that one worker holds at once. Asked by `dpexp.config.resources`."""

    def mechanism(self, problem: Any, schedule: Schedule, budget: Budget, n: int) -> Released:
        """What n steps release. Asked by `dpexp.store.rows` for every cell, and by `dpexp privacy`."""

    def simulate(
        self,
        problem: Any,
        settings: Sequence[tuple[Schedule, Budget]],
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """Metrics of every setting and replicate at `steps`, the checkpoints. Asked by `dpexp.store.simulating`.

        A number depends on its own setting, the seed and its own replicate only, whatever else is in the call.
        """
