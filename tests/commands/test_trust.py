"""Readers of a stranger's folder run nothing of it and open nothing outside it: an audit hook sees every open and import.

The commands run in a process of their own, whose hook cannot be taken off again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from dpexp.store.folder import read_document, write_document
from tests.conftest import AT_LENGTH, ROOT, call
from tests.store.test_identity_of_records import TABLE
from tests.store.test_identity_of_records import config as of_records

PLUGIN = """import pathlib
pathlib.Path(__file__).with_name("ran").touch()
from dataclasses import dataclass
from typing import Literal
from dpexp.plugins import Plugin
from dpexp.algorithms import ALGORITHMS
class Mine(ALGORITHMS["ldp-sgd"]):
    name: Literal["mine"] = "mine"
PLUGIN = Plugin(algorithms={"mine": Mine})
"""
CONFIG = """experiment: {name}
{plugins}problem: {{name: huber-linear, d: 2}}
algorithm: {{name: {algorithm}}}
schedule: {{name: power, eta: 1, alpha: [1/2, 2/3]}}
privacy: {{mu: 1}}
run: {{n: 60, replicates: 3, seed: 1, checkpoints: 5}}
"""
READERS = (
    ("table",), ("table", "results/evil", "--format", "csv"), ("table", "own"), ("plot", "evil", "--format", "svg"), ("report", "results"),
    ("diff", "evil", "--by", "alpha"), ("list",),
    ("diff", "results/evil", "results/plain"), ("predict", "own"), ("predict", "own", "s.csv"), ("claims",),
)  # fmt: skip
HOOK = """import contextlib, io, json, os, sys
inside, outside, seen, found = os.path.realpath("."), sys.argv[1], [], []
def hook(event, arguments):
    if event in ("open", "import", "exec", "os.listdir", "os.scandir"):
        name = getattr(arguments[0], "co_filename", arguments[1] if event == "import" else arguments[0])
        if isinstance(name, (str, bytes)):
            path = os.path.abspath(os.fsdecode(name))
            code = path.startswith(inside) and path.endswith((".py", ".pyc"))
            places = (path, os.path.realpath(path))
            if code or any(place.startswith((outside, "/dev/zero", "/usr/share/doc")) for place in places):
                seen.append([event, path])
sys.addaudithook(hook)
from dpexp.commands import cli
for words in json.loads(sys.argv[2]):
    sys.argv, seen[:] = ["dpexp", *words], []
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    found.append([words, code, list(seen), said.getvalue()])
print(json.dumps(found))
"""


def heard(lab, outside, *commands):
    """Of every command: its words, exit code, what it opened or imported of a stranger, and what it said."""
    command = [sys.executable, "-c", HOOK, str(outside), json.dumps(commands)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=lab, capture_output=True, text=True, timeout=200, check=True, env=environment)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A project with results of a plug-in, of own records, and of what a manifest was made to name."""
    lab, outside = tmp_path_factory.mktemp("stranger"), tmp_path_factory.mktemp("outside")
    (outside / "t.csv").write_text(TABLE)
    (outside / "key").write_text("PRIVATE KEY")
    (lab / "evil.py").write_text(PLUGIN)
    (lab / "configs").mkdir()
    plugins = "plugins: ../evil.py\n"
    for name, algorithm, needs in (("evil", "mine", plugins), ("plain", "ldp-sgd", "")):
        text = CONFIG.format(name=name, algorithm=algorithm, plugins=needs)
        (lab / "configs" / f"{name}.yaml").write_text(text)
    of_records(lab / "configs", path=outside / "t.csv", experiment="own")
    call("run", *(f"configs/{name}.yaml" for name in ("evil", "plain", "own")), "-q", cwd=lab)
    (lab / "s.csv").write_text("x\n0.1\n0.9\n")
    (lab / "ran").unlink()
    return lab, outside


def hostile(lab, outside, way):
    """What a manifest, a link or a name can say."""
    place = lab / "results/plain/manifest.json"
    manifest = read_document(place)
    config, code = manifest["config"], next(iter(manifest["code"].values()))
    if way in ("/dev/zero", "a key", "a plug-in"):
        config["path"] = {"a key": str(outside / "key"), "a plug-in": str(lab / "configs/evil.yaml")}.get(way, way)
    elif way == "a pipe":
        os.mkfifo(lab / "pipe")
        code[f"file {lab / 'pipe'}"] = "0"
    elif way == "a cell elsewhere":
        (cell, *_) = manifest["cells"]
        for section in ("cells", "computed_from"):
            manifest[section][f"../../../{outside.name}/key"] = manifest[section].pop(cell)
    elif way == "a link":
        shutil.rmtree(lab / "results/plain/trajectories")
        (lab / "results/plain/trajectories").symlink_to(outside)
        (lab / "results/linked").symlink_to(outside)
        (lab / "configs/linked.yaml").symlink_to(outside / "key")
    elif way == "a newline":
        config["path"] = "x\nerror: all is lost.yaml"
    write_document(place, manifest)


WAYS = ("/dev/zero", "a link", "a cell elsewhere", "a key", "a pipe", "a plug-in", "a newline")


@pytest.mark.slow
@pytest.mark.parametrize("ways", [(way,) for way in WAYS] if AT_LENGTH else [WAYS[:2]])
def test_no_reader_runs_or_opens_what_a_folder_names(stranger, tmp_path, ways):
    source, outside = stranger
    lab = tmp_path / "lab"
    shutil.copytree(source, lab)
    for way in ways:
        hostile(lab, outside, way)
    for words, code, seen, said in heard(lab, outside, *READERS):
        assert (seen, code in (0, 2, 3)) == ([], True), (words, code, said)
        assert "PRIVATE KEY" not in said
        assert "\nerror: all is lost" not in said
    assert not (lab / "ran").exists()
    for page in lab.rglob("report.html"):
        assert "PRIVATE KEY" not in page.read_text()
        assert ("private: do not publish" in page.read_text()) == (page.parent.name == "results")


def test_who_is_given_a_config_runs_what_it_names(stranger, tmp_path):
    """So the hook hears what there is to hear."""
    source, outside = stranger
    shutil.copytree(source, tmp_path / "lab")
    commands = ("validate", "configs/evil.yaml"), ("validate", "configs/own.yaml")
    plugin, records = heard(tmp_path / "lab", outside, *commands)
    assert any(path.endswith("evil.py") for _, path in plugin[2])
    assert any(path.endswith("t.csv") for _, path in records[2])
