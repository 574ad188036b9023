"""The checks of `ldp-sgd`, by the ids of its claims."""
