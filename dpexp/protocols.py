"""The seams of dpexp: every kind of thing that can be added, what it offers, and who asks for it.

Read this page before you add something. Every kind is defined in the module that is named here, and all of them can be
imported from this one. Problems and algorithms are interfaces: a class is a `Problem` or an `Algorithm` by having their
members. Whoever inherits from `dpexp.problems.problem.ProblemBase` or `dpexp.algorithms.algorithm.AlgorithmBase` gets
the members marked "default" and the fields of a config. The other kinds are classes to inherit from, or values:

kind       defined in                            what one is, and who asks for its members
Problem    dpexp.problems.problem                an interface, what is learnt from which data
    name, model_dump  its name in a config, and its parameters; `dpexp.core.parameters.Parameters` has the second
    memory            bytes of the data that are kept; asked by `dpexp.config.resources`; default: 0
    prepare           reads what has to be read; asked by the config reader; default: nothing
    notices           what is said of the data in `validate`, `run` and `privacy`; default: nothing
    files             the user's own data files; asked by `dpexp.store.fingerprint`; default: none
    places            where these files are now; asked by `dpexp.store`; default: their paths as seen from here
    legend            what released parameters mean; asked by `dpexp.store.cell_files`, of files; default: {}
    fresh_users       whether steps are users who come once; asked by figures; default: False
    remarks           what is odd about the user's own table; asked by `validate` and `run`; default: nothing
    require_records   refuses a table of which no record can be read; asked by `validate` and `run`; default: nothing
    held_out_records, held_out_classes   on what an accuracy is measured; asked by tables; default: nothing
    dealt_anew        the same records, held out by another seed; asked by deployments; default: the problem
Algorithm  dpexp.algorithms.algorithm            an interface, an update rule and the mechanism that it is
    name, model_dump  as for a problem
    estimators, metrics   what is measured at every checkpoint; asked by the store
    runs_on, schedules    the classes of problems and the schedules that it takes; asked by the config reader
    smoke_size        steps and replicates of `--profile smoke`; default: (2000, 8)
    lanes             replicates that are computed side by side, as pieces of a run are cut; default: 8
    witnesses         replicates that `dpexp run --confirm` computes again; default: 8
    in_python         whether Python has a part in every step, so that many workers are processes; default: False
    toys              small settings of its own parameters for `dpexp check`; default: its defaults alone
    steps             the number of steps where a config does not say it; default: the config must say it
    complaints        what is wrong with a setting, in words; asked by the config reader; default: nothing
    seconds, memory   what a run costs; asked by `dpexp.config.resources` and `run --dry-run`
    mechanism         what a run releases, a `Released`; asked by `dpexp.store.rows` and `dpexp privacy`
    releases          the estimators whose parameters are kept where the records are a user's own; default: none
    simulate          the computation, of settings that differ in schedule and budget
    common            what cells of a pass agree in; asked by `dpexp.config.cells`; default: all but schedule and budget
    together          the computation of a pass; asked by `dpexp.store.simulating`; default: `simulate`
Released   dpexp.privacy.mechanisms.released     an interface, what a run releases, as a privacy statement needs it
    neighboring_relation, sampling   which data sets count as neighbours, and how records meet the steps
    row               the privacy columns of cells.parquet; asked by `dpexp.store.rows`
    analyses, describe   as for a mechanism; asked by `dpexp.reporting.statement`
Schedule   dpexp.algorithms.schedules                       a base class, a rule for the step sizes
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
    scheme, drawn     how records meet the steps, as `sampling` or that word says; default: every record once
    analyses          every analysis that applies, the refused ones with their reason; asked by every privacy statement
    lower_bounds      what pairs of neighbours attain; asked by `dpexp privacy`; default: none
    law               what a run on a few records releases, by enumeration; asked by `dpexp check`; default: not given
    describe          who is protected and what is released, in sentences; asked by every privacy statement
Analysis   dpexp.privacy.analyses.analysis       a value, one upper bound on the privacy loss of one mechanism
    name, source      what it is called, and where it comes from
    released          what it covers: all iterates, or the last one alone
    eps               epsilon as a function of delta; asked by statements, calibration and algorithms that set noise
    assumptions       what has to hold
    rdp, mu           Renyi divergence by order and Gaussian-DP parameter, where there is one; default: None
    refused           why it is no guarantee here; default: empty, it is one
    remark            what is worth knowing of a guarantee; stands where the reason of a refusal would; default: empty
    secret            what must not leave for the statement to hold; default: empty, nothing
    steps             the kinds of steps that it composes, so that several runs can be composed; default: none
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
    sources, follows  of a figure of any result: the results, and whose code it follows besides its own; default: none
Table      dpexp.reporting.table                 a value, asked by `dpexp table`
    name, title, paper   what it is called
    needs             the experiments whose stored results it reads
    build             the text and the numbers of it, from the folder of results; it never simulates
    names_its_parameters  whether its note holds all parameters of its experiments; asked by captions; default: False
Claim      dpexp.reporting.claim                 a value, a sentence of a paper and what settles it; asked by `claims`
    id, place, statement, kind   which sentence it is
    experiments       the experiments whose stored results the check reads; empty where theory alone settles it
    check             the verdict and its numbers, from `dpexp.reporting.evidence.Evidence`
    sabotage          evidence made wrong, which the check must notice; asked by `dpexp check`; default: none
    quote, source, false_if   the paper's own words, or that it is ours, and what would make it false; default: empty
    tolerance, expected, why     what counts as agreement, and which verdict we expect for which reason
Paper      dpexp.reporting.paper                 a value, all of one reproduction; asked by `dpexp.papers` and plug-ins
    id, title, authors   what it is called everywhere
    claims, figures, tables, configs   what belongs to it; default: none
    not_claimed       what of the paper no claim settles, and why; default: none
    bibliography      what else is known of where it appeared, by BibTeX's names; default: none
    overlays          figures that can also be drawn with theory laid over them; default: none
    theory            what it predicts of cells of any experiment; asked by `dpexp plot RESULT --theory`; default: None
    headlines, what_to_know   what a reader should see first, and its rows; asked by `dpexp claims`; default: none
Plugin     dpexp.plugins                         a value, everything that one file outside the package adds
"""

from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import Schedule
from dpexp.plugins import Plugin
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.released import Released
from dpexp.problems.problem import Problem
from dpexp.reporting.claim import Claim
from dpexp.reporting.figure import Figure
from dpexp.reporting.paper import Paper
from dpexp.reporting.table import Table
from dpexp.theory.theorem import Theorem

__all__ = [
    "Algorithm",
    "Analysis",
    "Budget",
    "Claim",
    "Figure",
    "Mechanism",
    "Paper",
    "Plugin",
    "Problem",
    "Released",
    "Schedule",
    "Table",
    "Theorem",
]
