"""`--set section.key=value`: a change to the YAML tree from the command line."""

from __future__ import annotations

from dpexp.config.cells import SECTIONS
from dpexp.config.tuning import TUNE
from dpexp.config.words import suggest
from dpexp.config.yamlfile import Issue, Located, Position, YamlErrors, parse


def override(root: Located, text: str, issues: list[Issue], shown: str = "") -> Located:
    """The tree with `a.b=value` set; what is wrong with the text goes to `issues`."""
    where = Position(shown or f"--set {text}")
    path, equals, value_text = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys) or not isinstance(root.value, dict):
        issues.append(Issue(where, "must read section.key=value", "for instance --set run.n=3000"))
        return root
    known = ("experiment", *SECTIONS, TUNE)
    if keys[0] not in known or len(keys) > 2:
        issues.append(Issue(where, f"unknown key '{path}'", suggest(keys[0], known)))
        return root
    try:
        value = _relocate(parse(value_text, str(where)), where) if value_text.strip() else Located(None, where)
    except YamlErrors as error:
        issues.extend(Issue(where, issue.message) for issue in error.issues)
        return root
    return _set(root, keys, value, where)


def _set(tree: Located, keys: list[str], value: Located, where: Position) -> Located:
    if not keys:
        return value
    inner = tree.value if isinstance(tree.value, dict) else {}
    child = _set(inner.get(keys[0], Located({}, where)), keys[1:], value, where)
    return Located(inner | {keys[0]: child}, tree.where, {**tree.keys, keys[0]: tree.keys.get(keys[0], where)})


def _relocate(located: Located, where: Position) -> Located:
    value = located.value
    if isinstance(value, dict):
        value = {k: _relocate(v, where) for k, v in value.items()}
    elif isinstance(value, list):
        value = [_relocate(v, where) for v in value]
    return Located(value, where, dict.fromkeys(located.keys, where))
