"""The checks of `noisy-sgd`, by the ids of its claims."""
