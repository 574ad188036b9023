"""What mkdocs does not do by itself for the site: pages from outside docs/, links to files, notebooks of the gallery.

The pages are written for readers of the repository, where README.md is the front page and ../results/ is a link that
works. On the site, a page from outside docs/ is copied in, a picture from results/ too, and a link to any other file
leads to the project's address. A link to a file that is not there fails the build.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import jupytext
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from tools import reference

ROOT = Path(__file__).parent.parent
BROUGHT = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "notation.md": "NOTATION.md",
    "changelog.md": "CHANGELOG.md",
    "results/CLAIMS.md": "results/CLAIMS.md",
    **{path: path for path in (f"results/claims/{page.name}" for page in (ROOT / "results/claims").glob("*.md"))},
}
"""pages of the site that lie outside docs/"""
FINDINGS = "<!-- what to know -->"
LINK = re.compile(r"(?P<shown>!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<target>[^)\s]+)\)")
BLOCK = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def slug(title: str, separator: str) -> str:
    """Anchors as the forge makes them, so that one link serves both."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def on_files(files: Files, config: Any) -> Files:
    """Add what lies outside docs/: pages, the pictures that pages show, the reference, the notebooks."""
    for name, source in BROUGHT.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    for name, text in reference.pages().items():
        files.append(File.generated(config, name, content=text))
    pictures = {found for page in files.documentation_pages() for found in shown(page)}
    for name in sorted(pictures):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for script in sorted((ROOT / "docs/gallery").glob("*.py")):
        notebook = jupytext.writes(jupytext.read(script), fmt="ipynb")
        files.append(File.generated(config, f"gallery/{script.stem}.ipynb", content=notebook))
    return files


def shown(page: File) -> set[str]:
    """Pictures of results/ that a page shows."""
    found = {
        place(page.src_uri, link["target"]) for link in LINK.finditer(page.content_string) if link["shown"][0] == "!"
    }
    return {name for name in found if not name.startswith("docs/")}


def place(page: str, target: str) -> str:
    """A relative link of a page as a path from the repository's root."""
    source = BROUGHT.get(page, f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as the site needs them, outside blocks of code; a paper's page has its main findings from the ledger."""
    if FINDINGS in markdown:
        ledger = f"results/claims/{page.file.src_uri}"
        findings = (ROOT / ledger).read_text().split("## What to know\n")[1].split("\n## ")[0]
        markdown = markdown.replace(FINDINGS, findings.replace("](#", f"](../{ledger}#"))
    parts = BLOCK.split(markdown)
    parts[::2] = [LINK.sub(lambda link: _link(link, page.file.src_uri, config), part) for part in parts[::2]]
    return "".join(parts)


def _link(link: re.Match[str], page: str, config: Any) -> str:
    """One link: to a page or a picture of the site, or to a file at the project's address."""
    target, _, anchor = link["target"].partition("#")
    if re.match(r"[a-z]+:", target) or not target:
        return link[0]
    name = place(page, target)
    if not (ROOT / name).exists():
        raise PluginError(f"{page}: no such file: {target}")
    pages = {source: brought for brought, source in BROUGHT.items()}
    if name in pages or (name.startswith("docs/") and (name.endswith(".md") or link["shown"][0] == "!")):
        inside = pages.get(name, name.removeprefix("docs/"))
    elif link["shown"][0] == "!":
        inside = name
    else:
        kind = "tree" if (ROOT / name).is_dir() else "blob"
        outside = f"{link['shown']}{config.repo_url.rstrip('/')}/{kind}/main/{name}{'#' + anchor if anchor else ''})"
        script = name.startswith("docs/gallery/")
        return f"{outside} · [notebook]({target.removesuffix('.py')}.ipynb)" if script else outside
    relative = posixpath.relpath(inside, posixpath.dirname(page) or ".")
    return f"{link['shown']}{relative}{'#' + anchor if anchor else ''})"
