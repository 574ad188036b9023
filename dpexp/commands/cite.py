"""`dpexp cite`: BibTeX of dpexp, or of a paper, theorem, analysis or mechanism.

The registries are loaded where a name is looked up in them, and not to cite dpexp itself.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.citation import Citation, citation_file, of_analysis, of_dpexp, of_paper, of_theorem, theorems


def cite(name: str | None) -> tuple[list[dict[str, Any]], str]:
    """Document and text. A name that means several things, such as noisy-sgd, has an entry for each."""
    found = [of_dpexp()] if name is None else _named(name)
    return [one.document() for one in found], "\n\n".join(one.bibtex() for one in found)


def file() -> str:
    """CITATION.cff."""
    from dpexp.papers import our_papers

    return citation_file(our_papers())


def _named(name: str) -> list[Citation]:
    from dpexp.papers import papers
    from dpexp.privacy.mechanisms import MECHANISMS

    known, proved = papers(), theorems()
    found = [of_paper(known[name])] if name in known else []
    if name in proved:
        found.append(of_theorem(name, proved[name], known))
    # noisy-sgd is a paper and a mechanism: each has an entry.
    if name in MECHANISMS:
        about = (MECHANISMS[name].__doc__ or "").partition("\n")[0]
        label = f"{name}:mechanism" if found else name
        found.append(of_dpexp(label, "mechanism", f"mechanism {name}: {about}"))
    if found:
        return found
    # Analyses are known only from mechanisms, which takes seconds: so they come last.
    sources = analyses()
    if name in sources:
        return of_analysis(name, sources[name], known)
    everything = [*known, *proved, *MECHANISMS, *sources]
    hint = f"{guess(name, everything)}`dpexp list` has papers, theorems and mechanisms, `dpexp privacy` the analyses"
    raise UsageError(f"nothing is called '{name}'", hint)


def analyses() -> dict[str, list[str]]:
    """The sources of every analysis, by its name, as mechanisms of every kind state them: a thousand name them all."""
    from dpexp.conformance.settings import examples
    from dpexp.privacy.mechanisms import MECHANISMS, every_analysis

    found: dict[str, dict[str, None]] = {}
    for kind in MECHANISMS.values():
        for mechanism in islice(examples(kind), 1000):
            for analysis in every_analysis(mechanism):
                found.setdefault(analysis.name, {})[analysis.source] = None
    return {name: list(sources) for name, sources in found.items()}
