"""Counts words that dpexp avoids in pages, messages and names, and lists the ten worst files: `python tools/words.py`.

Pages and messages avoid turns of phrase in which things act as persons; names avoid participles and pronouns, which do
not say what a value holds. Exits with 1 where a count is above its limit. A change may lower a limit.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
TURNS = re.compile(
    r"\b(tells?|told|stands?|stood|gives? away|held against|is held|so (?:accurate|many) is|what of|lies|of which|"
    r"nothing is|nobody|who has|says? (?:so|that|what|how|which|it)|asked for|in the place of|beside)\b",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"found|kept|told|one|most|some|there|what|again|left|given|whole|asked|asking|lacking|stated|seen|said|sought|shown|"
    r"taken|chosen|wanted|held|looked|aside"
)
LIMITS = {"pages": 1, "messages": 160, "names": 100}
"""the largest counts that pass"""


def turns_of_text(text: str) -> int:
    """Turns of phrase in a text."""
    return len(TURNS.findall(text))


def counts_of_code(source: str) -> tuple[int, int]:
    """Turns in docstrings and messages of at least three words, and names that say nothing, in Python source."""
    nodes = list(ast.walk(ast.parse(source)))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    names += [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    names += [node.arg for node in nodes if isinstance(node, ast.arg)]
    turns = sum(turns_of_text(text) for text in texts if len(text.split()) >= 3)
    return turns, sum(NAMES.fullmatch(name.strip("_")) is not None for name in names)


def main() -> int:
    """Print the counts and the worst files; 1 where a limit is passed."""
    counts = {kind: Counter[str]() for kind in LIMITS}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        counts["pages"][str(page.relative_to(ROOT))] = turns_of_text(page.read_text())
    for file in (ROOT / "dpexp").rglob("*.py"):
        name = str(file.relative_to(ROOT))
        counts["messages"][name], counts["names"][name] = counts_of_code(file.read_text())
    for kind, by_file in counts.items():
        worst = ", ".join(f"{name} {count}" for name, count in by_file.most_common(10) if count)
        print(f"{kind}: {by_file.total()} of at most {LIMITS[kind]}; {worst}")
    return int(any(by_file.total() > LIMITS[kind] for kind, by_file in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
