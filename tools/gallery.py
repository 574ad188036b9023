"""python -m tools.gallery: run every example of docs/gallery/, keep its picture, and write docs/gallery.md.

An example is a script of cells (`# %%`), which jupytext and editors open as a notebook. Its first cell is text, and
what it shows is called `picture`. Each is run at full size in a process and a folder of its own. Names as arguments run
those alone; the page then keeps what it says of the others.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
ORDER = (
    "first", "budgets", "updates", "median", "accuracy", "tree", "intervals", "noise", "last_iterate",
    "attacker", "judged",
)  # fmt: skip
SAVE = """
import sys
from pathlib import Path
names = {"__name__": "__main__"}
exec(compile(Path(sys.argv[1]).read_text(), sys.argv[1], "exec"), names)
picture = names["picture"]
(picture if hasattr(picture, "savefig") else picture.canvas).savefig(sys.argv[2], dpi=100, metadata={"Software": None})
"""
HEAD = """# Gallery

Here you can copy an example: picture, config, commands and CPU seconds. Each is a script that opens as a notebook.
"""


def run(name: str) -> float:
    """CPU seconds of an example; its picture lies beside it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", SAVE, str(EXAMPLES / f"{name}.py"), str(EXAMPLES / f"{name}.png")]
        subprocess.run(
            words, cwd=folder, check=True, env={**os.environ, "MPLBACKEND": "agg"}, stdout=subprocess.DEVNULL
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def section(name: str, seconds: float) -> str:
    """What the page says of an example: its text, its picture, its config, its cost."""
    source = (EXAMPLES / f"{name}.py").read_text()
    said = re.sub(r"^# ?", "", source.split("# %%\n")[0].split("# %% [markdown]\n")[1], flags=re.MULTILINE)
    title, _, prose = said.removeprefix("# ").partition("\n")
    text, _, commands = prose.strip().partition("Commands: ")
    config = re.search(r'CONFIG = """\n(.*?)"""', source, re.DOTALL)
    parts = [f"## {title}", text.strip(), f"![{title}](gallery/{name}.png)"]
    if config:
        parts.append(f"```yaml\n{config[1].strip()}\n```")
    parts.append(f"{commands.strip()} · {seconds:.1f} s · [script](gallery/{name}.py)")
    return "\n\n".join(parts)


def page(seconds: dict[str, float]) -> str:
    """The page, of the examples whose seconds are known."""
    return "\n\n".join([HEAD.strip(), *(section(name, seconds[name]) for name in ORDER if name in seconds)]) + "\n"


def known() -> dict[str, float]:
    """Seconds that the page has of each example."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {name: float(s) for s, name in re.findall(r"([\d.]+) s · \[script\]\(gallery/(\w+)\.py\)", text)}


def main(names: list[str]) -> None:
    """Run examples, all where none is named, and write the page; `--page` alone runs none."""
    if sorted(ORDER) != sorted(path.stem for path in EXAMPLES.glob("*.py")):
        raise SystemExit("ORDER names the examples of docs/gallery, each once")
    seconds = known()
    for name in () if names == ["--page"] else names or ORDER:
        seconds[name] = run(name)
        print(json.dumps({"example": name, "seconds": round(seconds[name], 1)}), flush=True)
    PAGE.write_text(page(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
