"""The JSON schema against the reader: what `validate` accepts it accepts, and what it can know to be wrong it refuses."""

import json
import re

import jsonschema
import pytest
import yaml

from dpexp.config.experiment_file import read_experiment
from dpexp.config.schema import json_schema
from dpexp.config.sections import REGISTRIES
from dpexp.config.yamlfile import ConfigError, parse
from tests.campaigns.config_mutants import CONFIGS, mutants, own_config

IN_ONE_VALUE = re.compile(r"^unknown |' must be .*, got (?!')")
"""messages about one key or value, which a schema can see too. Not about numbers in quotes: these are text to dpexp,
and to a schema they look like 1/3 as PyYAML reads it"""


def complaints(text):
    """What the reader says against a config."""
    try:
        read_experiment(text, "mutant.yaml")
    except ConfigError as error:
        return [issue.message for issue in error.issues]
    return []


@pytest.fixture(scope="module")
def schema():
    made = json_schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def plain(text):
    """The values of a config as JSON has them, numbers read as dpexp reads them; an infinite number stays one."""
    return json.loads(json.dumps(parse(text, "text")))


def test_is_standard_json_without_loose_references(schema):
    text = json.dumps(schema.schema, allow_nan=False)
    assert text.count('"description"') > 700
    assert "$ref" not in text
    assert not {"ge", "le", "gt", "lt"} & {word.strip('": ') for word in text.split('"')}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_are_valid_as_dpexp_and_as_pyyaml_read_them(schema, path):
    text = path.read_text()
    for document in (plain(text), yaml.safe_load(text)):
        assert not [error.message for error in schema.iter_errors(document)]


@pytest.mark.parametrize(
    ("section", "name"), [(section, name) for section in REGISTRIES for name in REGISTRIES[section]]
)
def test_every_name_and_key_is_known(schema, section, name):
    for key in [key for key in REGISTRIES[section][name].model_fields if key != "name"]:
        document = {"experiment": "x", "cases": [{section: {"name": name, key: {"no": "such value"}}}]}
        assert not schema.is_valid(document), f"{section}.{name}.{key} takes anything"
    assert schema.is_valid({"experiment": "x", "cases": [{section: {"name": name}}]})
    assert not schema.is_valid({"experiment": "x", "cases": [{section: {"name": name, "zzz": 1}}]})


GOOD = """experiment: x
problem:   {name: huber-linear}
schedule:  {alpha: 1/3, eta: 1e-5}
privacy:   {mu: inf}
run:       {n: 3e5}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("alpha: 1/3", "alpha: -1/3"), ("alpha: 1/3", "alpha: 2"), ("name: huber-linear", "name: huber-linear, d: -3"),
        ("name: huber-linear", "name: huber-linear, d: 2.5"), ("name: huber-linear", "name: hubert"), ("n: 3e5", "n: 0"),
        ("mu: inf", "mu: 1e7"), ("mu: inf", "mu: {uniform: [1]}"), ("mu: inf", "eps: 1, delta: 2"),
        ("n: 3e5}", "n: 3e5}\npopulation: {dd: 3}"),
        ("experiment: x", "experiment: '../x'"), ("experiment: x", "experiment: x\nruns: {}"),
    ],
)  # fmt: skip
def test_what_the_reader_refuses_in_one_value_is_refused(schema, old, new):
    assert schema.is_valid(plain(GOOD))
    assert schema.is_valid(yaml.safe_load(GOOD))
    wrong = GOOD.replace(old, new)
    assert wrong != GOOD
    with pytest.raises(ConfigError):
        read_experiment(wrong, "wrong.yaml")
    assert not schema.is_valid(plain(wrong))


@pytest.mark.slow
def test_agrees_with_the_reader_on_mutants_of_every_config(schema, tmp_path):
    """Nothing that is accepted is refused; and of what is refused, only what no schema could see is accepted."""
    texts = [path.read_text() for path in CONFIGS] + [own_config(tmp_path)]
    accepted = refused = 0
    for text in mutants(20, 120, texts):
        try:
            document = plain(text)
        except ConfigError:
            continue
        # no key of a population has one type, so that a schema leaves its values open
        messages = [message for message in complaints(text) if "'population." not in message]
        accepted, refused = accepted + (not messages), refused + bool(messages)
        if not schema.is_valid(document):
            assert messages, text
        else:
            assert not list(filter(IN_ONE_VALUE.search, messages)), text
    assert accepted >= 8
    assert refused >= 40
