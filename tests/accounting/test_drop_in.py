"""`dpexp.accounting.Accountant` inside the programs for which it is written: their own classes and tests call it.

dp_accounting is always there. `make peers` installs jax_privacy and Opacus, which are large; without them their tests
are skipped.
"""

import importlib.util

import pytest

from dpexp.accounting import Accountant
from dpexp.core.errors import UsageError

dp = pytest.importorskip("dp_accounting")
from dp_accounting import privacy_accountant_test  # noqa: E402 - only where there is dp_accounting


class TestAsTheirsSay(privacy_accountant_test.PrivacyAccountantTest):
    """The 13 tests that dp_accounting has for every accountant."""

    def _make_test_accountants(self):
        return [Accountant(), Accountant("replace-one")]


def test_both_names_of_a_number_are_taken_and_one_has_to_be_given():
    accountant = Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    assert (
        accountant.get_epsilon(1e-5) == accountant.get_epsilon(target_delta=1e-5) == accountant.get_epsilon(delta=1e-5)
    )
    assert accountant.get_delta(0.5) == accountant.get_delta(target_epsilon=0.5) == accountant.get_delta(epsilon=0.5)
    for call in (accountant.get_epsilon, accountant.get_delta):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="delta is between"):
        accountant.get_epsilon(1.5)


def test_a_refusal_is_the_error_of_both():
    with pytest.raises(dp.UnsupportedEventError) as caught:
        Accountant().compose(dp.LaplaceDpEvent(1.0))
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, ValueError)


opacus = pytest.mark.skipif(importlib.util.find_spec("opacus") is None, reason="make peers has Opacus")


@pytest.fixture
def registered():
    """Ours under its name in Opacus' registry."""
    from opacus.accountants import register_accountant

    register_accountant("dpexp", Accountant, force=True)


@opacus
@pytest.mark.filterwarnings("default")  # of torch and of Opacus
def test_engine_of_opacus(registered, tmp_path):
    """It trains to the epsilon that it was asked for, and a checkpoint goes on from there."""
    import torch
    from opacus import PrivacyEngine

    def engine(epochs=2):
        torch.manual_seed(0)
        data = torch.utils.data.TensorDataset(torch.randn(400, 3), torch.randn(400, 1))
        model = torch.nn.Linear(3, 1)
        made = PrivacyEngine(accountant="dpexp")
        parts = made.make_private_with_epsilon(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), max_grad_norm=1.0,
            data_loader=torch.utils.data.DataLoader(data, batch_size=40), target_epsilon=3.0, target_delta=1e-4, epochs=epochs,
        )  # fmt: skip
        return made, parts

    made, (model, optimizer, loader) = engine()
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    assert len(made.accountant) == 20
    assert 2.9 < made.get_epsilon(1e-4) <= 3
    assert made.accountant.history == [(optimizer.noise_multiplier, 0.1, 20)]
    made.save_checkpoint(path=tmp_path / "state.pt", module=model)
    later, (other, *_) = engine(epochs=3)
    later.load_checkpoint(path=tmp_path / "state.pt", module=other)
    assert later.get_epsilon(1e-4) == made.get_epsilon(1e-4)
    kept: dict[str, object] = {}
    assert made.accountant.state_dict(kept) is kept
    assert kept["mechanism"] == "dpexp"


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 9, 100, 1600])
def test_a_tree_is_a_gaussian_release_of_the_nodes_that_hold_the_record(steps):
    """Nodes by enumeration: [a 2^b + 1, (a + 1) 2^b] inside the steps; each moves by one norm."""
    nodes = [range(a * 2**b, (a + 1) * 2**b) for b in range(12) for a in range(steps // 2**b)]
    held = max(sum(t in node for node in nodes) for t in range(steps))
    tree = Accountant().compose(dp.SingleEpochTreeAggregationDpEvent(1.13, steps))
    gaussian = Accountant().compose(dp.GaussianDpEvent(1.13), held)
    assert tree.get_epsilon(1e-6) == pytest.approx(gaussian.get_epsilon(1e-6), rel=1e-12)
    forest = Accountant().compose(dp.SingleEpochTreeAggregationDpEvent(1.13, [1, steps, 1]))
    assert forest.get_epsilon(1e-6) == tree.get_epsilon(1e-6)
