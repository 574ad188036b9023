"""Fingerprints against the only judge: which modules of dpexp really run when a number is made.

A profiler notes every module whose functions run, for one toy cell of every algorithm on every problem, and for every
figure, table and claim. Each must be in the fingerprint, or on a short list of modules that cannot change a number.
"""

import gc
import inspect
import sys
import threading
from functools import cache, partial
from importlib.util import find_spec

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.config.experiment_file import read_experiment
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import ResultsMissing
from dpexp.papers import claims, figures, tables
from dpexp.problems import PROBLEMS
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.ledger.standing import code_of_claim
from dpexp.reporting.slopes import SlopeError
from dpexp.store.fingerprint import NO_NUMBERS, closure, code_of, statement_of
from dpexp.store.rows import ended, row_of
from dpexp.store.simulating import simulate
from tests.conftest import AT_LENGTH, COSTLY, in_share, share

pytestmark = pytest.mark.slow

CANNOT_CHANGE_A_NUMBER = {
    "dpexp.plugins.importing": "finds the code of a plug-in when that is first imported",
    "dpexp.core.bytecode": "finds the code of a module when it is first imported",
    "dpexp": "gives a room its name when that is first imported",
    **dict.fromkeys(NO_NUMBERS, "says what goes on, or hands bytes on as they are"),
}
"""modules that may run without being in a fingerprint, and why"""
BUDGETS = ("{mu: 1}", "{eps: 1, delta: 1e-5}", "{mu: inf}")
TOY = """\
experiment: toy
problem: {{name: {problem}}}
algorithm: {{name: {algorithm}}}
privacy: {budget}
run: {{{n}replicates: 2, checkpoints: 3}}
"""


def ran(work):
    """Modules of dpexp whose functions ran during the work; the bodies of modules and classes do not count."""
    found = set()

    def note(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.split(".")[0] == "dpexp" and frame.f_code.co_flags & inspect.CO_NEWLOCALS:
            found.add(name)

    gc.collect()  # what other tests left ends here, and not during the work: a generator of theirs would count
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


PAIRS = {
    f"{algorithm} on {problem}": (algorithm, problem)
    for algorithm, kind in ALGORITHMS.items()
    for problem, one in PROBLEMS.items()
    if issubclass(one, kind.runs_on)
}


@cache
def cell_of(name):
    """One toy cell of an algorithm on a problem, with the first budget that it takes."""
    algorithm, problem = PAIRS[name]
    ways = [(n, budget) for n in ("n: 30, ", "") for budget in BUDGETS]
    texts = (TOY.format(problem=problem, algorithm=algorithm, n=n, budget=budget) for n, budget in ways)
    return next(cell for cell in map(_cell, texts) if cell)


def _cell(text):
    try:
        return read_experiment(text, "toy.yaml").cells[0]
    except ConfigError:
        return None


def covering():
    """As few of them as have every algorithm and every problem: `make soak` edits code behind all of them."""
    chosen, seen = [], set()
    for name, pair in PAIRS.items():
        mine = set(pair)
        if not mine <= seen:
            chosen.append(name)
            seen |= mine
    return chosen


SOME = covering()
TRIED = [name for name in SOME if in_share(name, 3)]
"""every third one here, all of them by `make soak`"""


@pytest.mark.parametrize("name", share(PAIRS))
def test_every_algorithm_has_a_toy_cell_on_every_problem_that_it_takes(name):
    assert (cell_of(name).algorithm.name, cell_of(name).problem.name) == PAIRS[name]


@pytest.mark.parametrize("name", TRIED)
def test_what_runs_for_a_cell_is_in_its_fingerprint(name):
    cell = cell_of(name)
    _ = cell.received  # the first stage, whose numbers count and not its code
    seen = ran(lambda: simulate([cell], [0]))
    assert seen
    assert seen - set(code_of(cell)) - set(CANNOT_CHANGE_A_NUMBER) == set()


@pytest.mark.parametrize("name", TRIED)
def test_what_runs_for_a_statement_is_in_the_fingerprint_of_the_row(name):
    cell = cell_of(name)
    done = simulate([cell], [0])
    data = done.passed.of(0)
    vars(cell).pop("received")
    assert (
        ran(lambda: (cell.received, row_of(cell, (1e-5,), ended(cell, data))))
        - set(statement_of(cell))
        - set(CANNOT_CHANGE_A_NUMBER)
        == set()
    )


def test_what_counts_for_no_number_is_there():
    """A name that no module has any more would let its successor into some runs' code, and not into others'."""
    assert [name for name in CANNOT_CHANGE_A_NUMBER if find_spec(name) is None] == []


def test_the_profiler_sees_what_it_should():
    """The check has power: a fingerprint that lacks one of its modules would be found wanting."""
    seen = ran(lambda: simulate([cell_of("ldp-sgd on huber-linear")], [0]))
    assert {"dpexp.problems.huber_linear", "dpexp.algorithms.ldp_sgd", "dpexp.engine.linear.one_pass"} <= seen
    assert "dpexp.store.files" not in seen


def home(function):
    """The module that a figure's, table's or claim's function is written in."""
    while isinstance(function, partial):
        function = function.func
    return function.__module__


def shown():
    """What is shown from stored results, one figure, table or claim of every fourth module that writes some, or of all.

    Its function, the experiments that it needs, and the claim.
    """
    drawn = {f"figure {name}": (figure.draw, figure.needs, None) for name, figure in figures().items()}
    built = {f"table {name}": (table.build, table.needs, None) for name, table in tables().items()}
    checked = {c.id: (c.check, c.experiments, c) for paper in claims().values() for c in paper}
    everything = checked | built | drawn
    one_a_module = {home(value[0]): name for name, value in everything.items() if name not in LONG}
    tried = [name for name in sorted(one_a_module.values()) if in_share(name, 6)]
    names = [name for name in tried if not COSTLY & set(everything[name][1])]
    return {name: everything[name] for name in names}


LONG = {"figure hidden_state_figure"} | ({"figure coverage"} if not AT_LENGTH else set())
"""takes two minutes under the profiler, and 20 seconds, which `make soak` has"""
READING = (
    "dpexp.store",
    "dpexp.config",
    "dpexp.store.fingerprint",
    "dpexp.core.digests",
    "dpexp.reporting.ledger",
)
"""what reads stored results, checks them and says what is stale: it hands numbers on as they are"""


@pytest.mark.parametrize("name", shown())
def test_what_runs_for_a_figure_table_or_claim_is_found_from_its_module(name, toys):
    function, needs, claim = shown()[name]
    results = toys.results(needs)
    evidence = None if claim is None else Evidence(results).only(needs)
    try:
        seen = ran(lambda: function(results) if claim is None else claim.settled(evidence))
    except (ResultsMissing, SlopeError, ValueError, AssertionError, IndexError):
        pytest.skip("toy results settle nothing here")
    code = closure((home(function),)) if claim is None else code_of_claim(claim)
    assert {m for m in seen - set(code) if not m.startswith(READING)} - set(CANNOT_CHANGE_A_NUMBER) == set()
