"""The checks of `dp-sgld`, by the ids of its claims."""
