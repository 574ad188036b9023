"""dpexp: a command-line laboratory for differentially private stochastic gradient descent."""

__version__ = "0.1.0"
