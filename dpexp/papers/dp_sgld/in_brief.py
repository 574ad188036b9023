"""`dp-sgld` for a reader who has two minutes."""

HEADLINES = {
    "dp-sgld/theorem-3-1/eps-delta": "With its prescribed noise and steps, DP-SGLD is not (eps, 1e-5)-private.",
    "dp-sgld/table-1/privacy": "The published DP-SGLD runs on CIFAR-10 are not (1, 1e-5)-private.",
}
"""claims to begin with, each with what it found in one sentence that fits a line of a terminal"""

WHAT_TO_KNOW = (
    (
        "The privacy theorem holds for full batches and not for mini-batches: its proof averages over the batches"
        " inside a divergence that is not linear, so that the size of the batch drops out."
    ),
    "The published runs on CIFAR-10 are not (1, 1e-5)-private: epochs were counted for iterations, besides.",
    "What holds for mini-batches is composition of the steps; `dpexp privacy --mechanism langevin` states it.",
    "The bounds on the risk hold; decreasing steps make the bound smaller, and hardly the error itself.",
    (
        "On the two data sets of our runs the published accounting does not decide between DP-SGLD and DP-SGD; "
        "soundly accounted for, with both tuned, DP-SGLD as prescribed is less accurate."
    ),
)
"""for a reader who will use the paper"""
