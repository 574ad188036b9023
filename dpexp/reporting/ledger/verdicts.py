"""Judging claims from stored results, the ledger in which the verdicts are stored, and its pages.

`results/claims.json` is written whole or not at all, carries its checksum, and is changed by one process at a time.
Nothing in it depends on a machine, a clock or a cache, so that two reproductions have the same file. `CLAIMS.md` leads
to `claims/<paper>.md`, with all claims of a paper; `docs/differences.md` has what does not hold as printed.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from dpexp.config.shipped import needs_repository, place_of
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.files import Damaged, lock
from dpexp.core.terminal import each
from dpexp.core.text import columns, few
from dpexp.plugins.loaded import shell
from dpexp.reporting.claim import VERDICTS, WRONG, Claim, Outcome
from dpexp.reporting.paper import Paper, ToKnow
from dpexp.reporting.templates import filled
from dpexp.reporting.text_table import markdown_table
from dpexp.store.evidence import Evidence
from dpexp.store.folder import SCHEMA_VERSION, Folder, read_document, write_document
from dpexp.store.reading import config_typed, numbers_held, say_once

FILE = "claims.json"
LOCK, ELSEWHERE = ".claims.lock", "needs the repository"
STORED = ("claim", "outcome", "results")
"""fields of a row that are in the file"""
PATIENCE_S = 30.0
"""how long a writer waits for another one"""
State = Literal["judged", "stored", "stale", "missing"]
"""judged now from the results that are here; read from the ledger, judged from the same results; from others; never"""


def words_of(claim: Claim) -> dict[str, Any]:
    """The words of a claim, for programs."""
    texts = {name: text for name, text in vars(claim).items() if isinstance(text, str) and name != "expected"}
    configs = [place_of(name) for name in claim.experiments]
    return {"id": claim.id, "paper": claim.paper, **texts, "expected_verdict": claim.expected, "configs": configs}


@dataclass(frozen=True)
class Judgement:
    """One row, as it is stored and as it is printed.

    `claim` has the `words_of` the claim, `outcome` that of its check (empty if it was never judged), `results` by
    experiment the numbers that the check could read (`dpexp.store.generation.identity_of`), `reason` why it is stale or
    missing.
    """

    claim: dict[str, Any]
    outcome: dict[str, Any] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    state: State = "stored"
    reason: str = ""

    @property
    def id(self) -> str:
        return str(self.claim["id"])

    @property
    def paper(self) -> str:
        return str(self.claim["paper"])

    @property
    def is_current(self) -> bool:
        return self.state in ("judged", "stored")

    @property
    def is_surprising(self) -> bool:
        """Whether a verdict is known and is not the expected one."""
        return self.is_current and self.outcome["verdict"] != self.claim["expected_verdict"]

    @property
    def verdict(self) -> str:
        """The verdict, with the expected one where it differs, or in brackets the state."""
        if not self.is_current:
            words = ELSEWHERE if self.reason.startswith(ELSEWHERE) else "not judged yet"
            return f"[{self.state}; was: {self.outcome['verdict']}]" if self.outcome else f"[{words}]"
        return self.outcome["verdict"] + f" (expected: {self.claim['expected_verdict']})" * self.is_surprising

    def document(self, results: Path) -> dict[str, Any]:
        """The row with stable keys; a row that is stale or missing has null as its verdict and values."""
        outcome = self.outcome if self.is_current else dict.fromkeys(part.name for part in fields(Outcome))
        run = "" if self.is_current else shell(["claims", self.id], results)
        return {**self.claim, **outcome, "state": self.state, "reason": self.reason, "run": run}


def read_ledger(results: Path) -> dict[str, Judgement]:
    """The stored rows by the id of the claim; none, with a note, where the file is damaged."""
    try:
        stored = read_document(results / FILE)["verdicts"]
        rows = {name: Judgement(*(row[part] for part in STORED)) for name, row in stored.items()}
        # a checksum does not see that two rows have changed places
        if moved := next((name for name, row in rows.items() if row.id != name), None):
            raise Damaged(f"another claim's verdict stands under {moved}")
        return rows
    except (Damaged, KeyError, TypeError, AttributeError) as error:
        say_once(f"{results / FILE} is damaged ({error}): it is written anew when claims are judged")
    except FileNotFoundError:
        pass
    return {}


def write_rows(results: Path, fresh: Mapping[str, Judgement], known: Sequence[Claim], papers: Collection[str]) -> None:
    """Put fresh rows into the file, with those of other claims. Raises UsageError where it cannot be written.

    A row of a paper that is known goes with its claim; those of plug-ins that are not loaded stay.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        with lock(results / LOCK, PATIENCE_S):
            rows = {**read_ledger(results), **fresh}
            own = {claim.id: replace(rows[claim.id], claim=words_of(claim)) for claim in known if claim.id in rows}
            judged = own | {name: row for name, row in rows.items() if row.paper not in papers}
            verdicts = {name: {part: getattr(row, part) for part in STORED} for name, row in judged.items()}
            write_document(results / FILE, {"schema_version": SCHEMA_VERSION, "verdicts": verdicts})
    except OSError as error:
        message = f"{results / FILE} cannot be written: {error.strerror or error}"
        raise UsageError(message, "use --results DIR for another folder") from None


def stored_rows(results: Path, ledger: Mapping[str, Judgement], claims: Sequence[Claim]) -> dict[str, Judgement]:
    """The rows of claims, in their order; stale where they were not judged from the results that are here."""
    numbers = numbers_held(results, (name for claim in claims if claim.id in ledger for name in claim.experiments))
    rows = {}
    for claim in claims:
        absent = needs_repository(claim.experiments)
        reason = f"{ELSEWHERE}: it runs {absent[0]}, of research/" if absent else "not judged yet"
        row = ledger.get(claim.id) or Judgement({}, state="missing", reason=reason)
        changed = [name for name in claim.experiments if row.outcome and numbers[name][0] != row.results.get(name)]
        if changed:
            trouble = numbers[changed[0]][1]
            reason = f"result missing or stale: {trouble}" if trouble else f"result changed: {results / changed[0]}"
            row = replace(row, state="stale", reason=reason)
        rows[claim.id] = replace(row, claim=words_of(claim))
    return rows


def command(experiments: Iterable[str], results: Path) -> str:
    """What runs experiments that claims read; of `research/`, which a wheel lacks, only where there are no others."""
    typed = [config_typed(Folder(results, name)) for name in experiments]
    configs = " ".join([config for config in typed if config != "CONFIG"] or typed[:1])
    return shell(["run", *shlex.split(configs)], results)


def judge(
    claims: Sequence[Claim], results: Path, ledger: Mapping[str, Judgement] | None = None
) -> dict[str, Judgement]:
    """Claims judged now; with a ledger, the stored rows of those whose replicates are not here, as in a fresh clone.

    Without one ResultsMissing is raised, with the command that runs all that they need.
    """
    # read before the checks: results that change meanwhile make the row stale, and never a false one current
    numbers = numbers_held(results, (name for claim in claims for name in claim.experiments), whole=True)
    missing = {name: trouble for name, (_, trouble) in numbers.items() if trouble}
    if missing and ledger is None:
        message = f"claims need results that are missing or stale: {few(list(missing.values()), 1)}"
        raise ResultsMissing(message, f"run: {command(missing, results)}")
    # an experiment is read once for all claims
    evidence, rows = Evidence(results), stored_rows(results, ledger or {}, claims)
    for claim in each(claims, "claim", lambda claim: claim.id):
        if trouble := next((missing[name] for name in claim.experiments if name in missing), ""):
            row = rows[claim.id]
            rows[claim.id] = replace(row, reason=trouble) if row.state == "missing" else row
        else:
            read = {name: numbers[name][0] for name in claim.experiments}
            outcome = asdict(claim.judged(evidence.only(claim.experiments)))
            rows[claim.id] = Judgement(words_of(claim), outcome, read, "judged")
    return rows


# --- pages

NOT_CURRENT = "stale or missing"
INDEX, PAGE, DIFFERENCES = "CLAIMS.md", "claims/{}.md", "differences.md"


def by_paper(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    papers = dict.fromkeys(row.paper for row in judgements)
    return {paper: [row for row in judgements if row.paper == paper] for paper in papers}


def tally(judgements: Sequence[Judgement]) -> Counter[str]:
    """How many have which verdict, in the order of the verdicts; rows that are not current come last."""
    counts = Counter(row.outcome["verdict"] if row.is_current else NOT_CURRENT for row in judgements)
    return Counter({name: counts[name] for name in (*VERDICTS, NOT_CURRENT) if counts[name]})


def in_counts(judgements: Sequence[Judgement]) -> str:
    """The same in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in tally(judgements).items())


def listed(judgements: Sequence[Judgement]) -> str:
    """A line for each claim: its verdict and its id."""
    return f"{columns([[r.verdict, r.id] for r in judgements])}\n\n{len(judgements)} claims: {in_counts(judgements)}"


def section(row: Judgement) -> str:
    """Everything about one claim, under a heading that is its id."""
    return _filled("claim.md", row=row, configs=[Path(path).stem for path in row.claim["configs"]])


def warnings(rows: Sequence[Judgement]) -> list[str]:
    """A line for every verdict that is not the expected one, and for every reason why others are not current."""
    lines = [f"unexpected: {row.id}: {row.verdict}; {row.outcome['measured']}" for row in rows if row.is_surprising]
    # an edit makes many claims stale: a line for each reason, and not for each claim
    by_reason = defaultdict[tuple[str, str], list[str]](list)
    for row in rows:
        if not row.is_current:
            by_reason[row.state, row.reason].append(row.id)
    return lines + [f"{state}: {few(ids, 1)}: {reason}" for (state, reason), ids in by_reason.items()]


def link(row: Judgement, words: str, page: str = "") -> str:
    """To the heading of a claim, whose anchor has no strokes."""
    # a bracket, as in the interval [0, 1), would end the words of the link
    words = words.replace("[", r"\[").replace("]", r"\]")
    return f"[{words}]({page}#{row.id.replace('/', '')})"


def index(judgements: Sequence[Judgement], headlines: Mapping[str, str]) -> str:
    """The headlines, what the verdicts mean, and counts that lead to the pages."""
    # a column of zeros for stale rows would look like a fault
    verdicts = [*VERDICTS, *{NOT_CURRENT} & tally(judgements).keys()]

    def counts(source: str) -> list[list[str]]:
        table = []
        for paper, rows in by_paper(judgements).items():
            own = tally([row for row in rows if row.claim["source"] == source])
            table.append([f"[{paper}]({PAGE.format(paper)})", str(own.total()), *(str(own[name]) for name in verdicts)])
        return table

    by_id = {row.id: row for row in judgements}
    return _filled("claims.md", headlines=headlines, by_id=by_id, counts=counts, verdicts=verdicts)


def page(paper: str, judgements: Sequence[Judgement], of: Paper | None) -> str:
    """Every claim of a paper, and what to know."""
    rows = [[r.claim["place"], link(r, r.claim["statement"]), r.claim["source"], r.verdict] for r in judgements]
    by_id = {row.id: row for row in judgements}
    return _filled("page.md", paper=paper, judgements=judgements, of=of, rows=rows, by_id=by_id)


def contradicted(sentence: ToKnow, by_id: Mapping[str, Judgement]) -> list[str]:
    """The rows that no longer carry a sentence, in words; a row that is not current contradicts nothing."""
    return [
        f"{name} is {row.outcome['verdict']}, not {presumed}"
        for name, presumed in sentence.rests_on.items()
        if (row := by_id.get(name)) and row.is_current and row.outcome["verdict"] != presumed
    ]


def differences(judgements: Sequence[Judgement], papers: Iterable[Paper]) -> str:
    """What does not hold as printed, by paper: claims with such a verdict, and declared differences."""
    wrong = [row for row in judgements if row.claim["source"] == "paper" and row.outcome.get("verdict") in WRONG]
    rows = [(of, by_paper(wrong).get(of.id, [])) for of in papers]
    return _filled(DIFFERENCES, papers=[(of, own) for of, own in rows if own or of.differences])


def _filled(name: str, **values: Any) -> str:
    """A template of this folder; it calls functions of this module."""
    functions = {each.__name__: each for each in (link, section, in_counts, contradicted, markdown_table)}
    return filled("dpexp.reporting.ledger", name, INDEX=INDEX, PAGE=PAGE, ELSEWHERE=ELSEWHERE, **functions, **values)
