"""The tutorial's files and commands from its first block to its last, in the working folder: `python tutorial.py PAGE`.

It needs nothing but an installed dpexp, whose command lies beside this Python. The first command that fails ends it.
"""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"\A(?P<before>.*?)\n*^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def main(page: Path) -> None:
    names: dict[str, object] = {"__name__": "tutorial"}
    command = Path(sys.executable).parent / "dpexp"
    for part in re.split(r"(?<=\n```\n)", page.read_text()):
        block = BLOCK.search(part)
        named = block and re.search(r"\(`([\w/]+\.(?:py|yaml))`\)[.:]\s*\Z", block["before"])
        if named:
            Path(named[1]).write_text(block["text"])
        elif block and block["language"] == "python":
            exec(block["text"], names)
        for line in re.findall(r"^\$ dpexp (.*)", block["text"], re.MULTILINE) if block else ():
            print(f"$ dpexp {line}", flush=True)
            done = subprocess.run(f"{command} {line}", shell=True, stdout=subprocess.DEVNULL)
            if done.returncode and not line.startswith("claims"):  # a verdict on toy results may be another one
                sys.exit(f"exit code {done.returncode}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
