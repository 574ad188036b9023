"""How to cite: BibTeX of dpexp, of a paper, and of a theorem, analysis or mechanism by where it is from.

Everything is read from the registries. What they do not know, such as a publisher, is left out and never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import metadata

from dpexp.core.version import VERSION
from dpexp.reporting.latex import escaped
from dpexp.reporting.paper import Paper
from dpexp.reporting.templates import filled
from dpexp.theory.theorem import Theorem

# the names of people, once they want to be named
AUTHORS = "dpexp contributors"
RAW = frozenset({"eprint", "archiveprefix", "year", "version", "license"})
"""fields in which no character has a meaning for TeX"""


@dataclass(frozen=True)
class Citation:
    """One BibTeX entry."""

    name: str
    """what was asked for"""
    kind: str
    """dpexp, paper, theorem, analysis or mechanism"""
    type: str
    fields: Mapping[str, str]

    @property
    def key(self) -> str:
        return re.sub(r"[^A-Za-z0-9:-]+", "-", self.name.replace("/", ":"))

    def bibtex(self) -> str:
        shown = {name: text if name in RAW else escaped(text) for name, text in self.fields.items()}
        shown["title"] = re.sub(r"(?<=[ :])([a-z]*[A-Z]\w*)", r"{\1}", shown["title"])  # styles write the rest small
        if self.fields.get("author") in (AUTHORS, "Anonymous"):
            # one name, not a first and a last one
            shown["author"] = f"{{{shown['author']}}}"
        lines = [f"  {name} = {{{text}}}," for name, text in shown.items()]
        return "\n".join([f"@{self.type}{{{self.key},", *lines, "}"])

    def document(self) -> dict[str, object]:
        own = {"name": self.name, "kind": self.kind, "key": self.key, "type": self.type}
        return {**own, "fields": dict(self.fields), "bibtex": self.bibtex()}


def of_dpexp(name: str = "dpexp", kind: str = "dpexp", note: str = "") -> Citation:
    """The entry of this program; `note` says what of it is meant."""
    about = metadata("dpexp")
    fields = {"author": AUTHORS, "title": f"dpexp: {about['Summary']}", "version": VERSION}
    return Citation(name, kind, "software", {**fields, "license": _licence(), **({"note": note} if note else {})})


def _licence() -> str:
    about = metadata("dpexp")
    return str(about["License-Expression"] or about["License"] or "MIT")


def of_paper(paper: Paper, name: str = "", kind: str = "paper", note: str = "") -> Citation:
    """The entry of a paper; `note` says which place of it is meant."""
    fields = {"author": " and ".join(paper.authors.split(", ")), "title": paper.title, **paper.bibliography}
    notes = "; ".join(filter(None, [note, fields.pop("note", "")]))
    return Citation(name or paper.id, kind, "misc", {**fields, **({"note": notes} if notes else {})})


def theorems() -> Mapping[str, Theorem]:
    """What can be cited of them, by id; with all modules of theory, so that who cites no theorem does not wait."""
    from dpexp.theory import THEOREMS

    return THEOREMS


def of_theorem(name: str, theorem: Theorem, papers: Mapping[str, Paper]) -> Citation:
    """The paper with the theorem's place; one that dpexp completed says so."""
    form = "as printed" if theorem.form == "printed" else "as completed by dpexp"
    place = f"{theorem.place}, {form}"
    # what is ours cites dpexp
    if theorem.paper in papers:
        return of_paper(papers[theorem.paper], name, "theorem", place)
    return of_dpexp(name, "theorem", place)


def of_analysis(name: str, sources: list[str], papers: Mapping[str, Paper]) -> list[Citation]:
    """What an analysis is from: a place of a paper that is reproduced here, other people's work, or dpexp itself."""
    found = []
    for number, source in enumerate(sources, 1):
        # an analysis from several places has an entry for each
        label = name if len(sources) == 1 else f"{name}:{number}"
        paper, _, place = source.partition(", ")
        if paper in papers:
            found.append(of_paper(papers[paper], label, "analysis", place))
        elif source.startswith("ours"):
            found.append(of_dpexp(label, "analysis", source))
        else:
            found.append(
                Citation(label, "analysis", "misc", {"title": source, "note": f"as implemented in dpexp {VERSION}"})
            )
    return found


def citation_file(papers: Mapping[str, Paper]) -> str:
    """CITATION.cff: dpexp, and the papers that it reproduces as references."""
    about = metadata("dpexp")
    urls = [url.removeprefix("Source, ") for url in about.get_all("Project-URL") or () if url.startswith("Source, ")]
    own = {"summary": about["Summary"], "authors": AUTHORS, "version": VERSION, "license": _licence(), "sources": urls}
    # a string of JSON is one of YAML
    quoted = partial(json.dumps, ensure_ascii=False)
    return filled("dpexp.reporting", "citation.cff", papers=list(papers.values()), quoted=quoted, **own).rstrip("\n")
