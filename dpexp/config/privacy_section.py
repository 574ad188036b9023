"""The section `privacy:` of a config: budgets of the users, or a target of the whole run."""

from __future__ import annotations

from pydantic import ValidationError

from dpexp.config.error_messages import explain, suggest
from dpexp.config.yamlfile import ConfigError, Issue, Tree
from dpexp.privacy.budgets import BUDGETS, Budget, ConstantBudget, PrivacySettings, PureBudget, Target

LAW_EXAMPLES = (
    "for instance 2, inf, {uniform: [1, 2]}, {list: [0.5, 1]}, {choice: {values: [1, 2], probabilities: [1/2, 1/2]}}"
)


def privacy_of(tree: Tree) -> PrivacySettings:
    """The section as a value. Raises ConfigError with all that is wrong."""
    issues: list[Issue] = []
    if "eps" in tree and "mu" in tree:
        hint = "eps comes with delta"
        issues.append(Issue(tree.key("eps"), "give 'privacy.mu' or 'privacy.eps', not both", hint))
    if "delta" in tree and "eps" not in tree:
        issues.append(Issue(tree.key("delta"), "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1"))
    if "message" in tree and tree.value.get("delta") != 0:
        message = "'privacy.message' belongs to eps with delta: 0"
        issues.append(Issue(tree.key("message"), message, "leave out `message`"))
    if "mu" not in tree and tree.value.get("eps") is None:
        issues.append(Issue(tree.at("eps"), "'privacy.mu' is missing", "write `mu: inf` for no privacy"))
    budget: Budget = ConstantBudget(mu=1.0)  # of a target, until its numbers are known to be such
    try:
        budget = _budget(tree.part("mu")) if "mu" in tree else budget
    except ConfigError as error:
        issues += error.issues
    try:
        settings = PrivacySettings.model_validate({**tree.value, "mu": budget})
        changes: dict[str, object] = {}
        if settings.eps is not None and settings.delta == 0:
            changes = {"mu": PureBudget(eps=settings.eps)}
        elif settings.eps is not None:
            # Epsilon is reported at the delta of the target.
            delta = 1e-5 if settings.delta is None else settings.delta
            deltas = settings.deltas if "deltas" in tree else (delta,)
            changes = {"mu": Target(eps=settings.eps, delta=delta), "delta": delta, "deltas": deltas}
    except ValidationError as error:
        issues += explain(error, "privacy", tree, PrivacySettings)
    if issues:
        raise ConfigError(issues)
    return settings.model_copy(update=changes)


def _budget(tree: Tree) -> Budget:
    """A budget of the users: a number, or a mapping with one known law. Raises ConfigError."""
    law = "constant"
    if isinstance(tree.value, dict):
        laws = [name for name in BUDGETS if name != law]
        if unknown := [key for key in tree.value if key not in laws]:
            raise ConfigError([Issue(tree.key(k), f"unknown law of budgets '{k}'", suggest(k, laws)) for k in unknown])
        if len(tree.value) != 1:
            raise ConfigError([Issue(tree.at(), "'privacy.mu' needs exactly one law", LAW_EXAMPLES)])
        (law,) = tree.value
    try:
        return BUDGETS[law].model_validate({"mu": tree.value} if law == "constant" else tree.value)
    except ValidationError as error:
        raise ConfigError(explain(error, "privacy.mu", tree, LAW_EXAMPLES)) from None
