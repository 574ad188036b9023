"""The checks of `momentum`, by the ids of its claims."""
