"""What every claim must do: be complete, settle on results of any size, and notice its own sabotage."""

from __future__ import annotations

import re
from pathlib import Path

from dpexp.conformance.check import Check, Subject
from dpexp.conformance.experiments import Failed, NotTried, ToyExperiments
from dpexp.core.errors import ResultsMissing
from dpexp.core.text import counted
from dpexp.reporting.claim import VERDICTS, Claim, Outcome, OutsideHypotheses, quotation_fault
from dpexp.reporting.evidence import Evidence

Thing = Subject[Claim]


def members(subject: Thing, toys: ToyExperiments) -> str:
    claim = subject.value
    if not re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)+", claim.id):
        raise Failed(f"'{claim.id}' is no id such as paper/theorem-1/topic", claim.check)
    for word in ("place", "statement", "tolerance", "false_if"):
        if not getattr(claim, word):
            raise Failed(f"has no {word}", claim.check)
    if not claim.statement.endswith("."):
        raise Failed("its statement is no sentence: it ends without a full stop", claim.check)
    if fault := quotation_fault(claim):
        raise Failed(fault, claim.check)
    if claim.expected not in VERDICTS:
        raise Failed(f"expects '{claim.expected}', which is none of {', '.join(VERDICTS)}", claim.check)
    # Who reads the ledger has to learn why a claim is not expected to hold.
    if not claim.why and claim.expected != "reproduced":
        raise Failed(f"does not say why it expects '{claim.expected}'", claim.check)
    for experiment in claim.experiments:
        if toys.config_of(experiment) is None:
            raise Failed(f"needs the experiment '{experiment}', of which there is no config", claim.check)
    return f"{claim.kind} of {claim.place}; {counted(len(claim.experiments), 'experiment')}"


def _outcome(claim: Claim, toys: ToyExperiments, sabotaged: bool = False) -> Outcome:
    results = toys.results(claim.experiments)
    evidence = Evidence(results)
    if sabotaged and claim.sabotage:
        evidence = claim.sabotage(evidence)
    try:
        return claim.settled(evidence)
    # A toy run may be too short for the settings that a theorem asks for.
    except OutsideHypotheses as error:
        raise NotTried(f"toy results lie outside its hypotheses: {error.message}") from None
    # The folder holds what is declared and nothing else, so whatever else is read is missing there.
    except ResultsMissing as error:
        message = f"asks for results that `experiments` does not declare: {error.message}"
        raise Failed(message, claim.check) from None


def settles(subject: Thing, toys: ToyExperiments) -> str:
    """On toy results any verdict may come; a claim that theory alone settles has to come out as expected."""
    claim = subject.value
    outcome = _outcome(claim, toys)
    if outcome.verdict not in VERDICTS:
        raise Failed(f"its check gives '{outcome.verdict}', which is none of {', '.join(VERDICTS)}", claim.check)
    if not outcome.measured:
        raise Failed("its check does not say what was measured", claim.check)
    # No size of a run excuses theory that comes out otherwise.
    if not claim.experiments and outcome.verdict != claim.expected:
        raise Failed(
            f"theory alone says '{outcome.verdict}', expected '{claim.expected}': {outcome.measured}", claim.check
        )
    return f"{outcome.verdict}: {outcome.measured}"[:200]


def sabotage(subject: Thing, toys: ToyExperiments) -> str:
    claim = subject.value
    if claim.sabotage is None:
        raise NotTried("supplies no sabotage")
    right, wrong = _outcome(claim, toys).verdict, _outcome(claim, toys, sabotaged=True).verdict
    # A check that says the same of both looks at neither.
    if right == wrong:
        raise Failed(f"says '{right}' of its own sabotage too", claim.check)
    return f"'{right}' becomes '{wrong}'"


def _are_smaller(claim: Claim, toys: ToyExperiments) -> bool:
    """Whether the toy results of a claim are not of the settings that its configs ask for."""
    from dpexp.config.experiment_file import load_experiment

    def settings(path: Path, profile: str) -> set[str]:
        return {cell.cell_id for cell in load_experiment(path, profile=profile).cells}

    configs = [path for name in claim.experiments if (path := toys.config_of(name)) is not None]
    return any(settings(path, "smoke") != settings(path, "paper") for path in configs)


def hypotheses(subject: Thing, toys: ToyExperiments) -> str:
    """None is violated by the settings used, and each would notice one that violates it."""
    claim = subject.value
    if not claim.hypotheses:
        raise NotTried("assumes nothing")
    evidence = Evidence(toys.results(claim.experiments))
    for hypothesis in claim.hypotheses:
        if hypothesis.refused is None:
            raise Failed(f"gives no setting outside its hypothesis that {hypothesis.words}", claim.check)
        # A hypothesis that refuses nothing would let its claim be judged anywhere.
        if not hypothesis.refused(evidence):
            raise Failed(f"would be judged where it does not hold that {hypothesis.words}", claim.check)
        if broken := hypothesis.broken(evidence):
            # At toy size a prescribed schedule or a choice of settings is another one.
            if _are_smaller(claim, toys):
                raise NotTried(f"toy results lie outside it, where {hypothesis.words}: {broken[0]}")
            raise Failed(f"is judged where it does not hold that {hypothesis.words}: {broken[0]}", claim.check)
    return "; ".join(hypothesis.words for hypothesis in claim.hypotheses)


CHECKS: tuple[Check[Claim], ...] = (
    Check("members", "Every field is filled in, and its experiments have configs.", members),
    Check("hypotheses", "Its settings satisfy its hypotheses, and one that does not is refused.", hypotheses),
    Check("settled", "Its check gives a verdict on toy results of what it declares, or on none.", settles),
    Check("sabotage", "Evidence that it makes wrong itself gives another verdict.", sabotage),
)
