"""`ldp-sgd` for a reader who has two minutes."""

HEADLINES = {
    "ldp-sgd/table-1/strong/asgd/below-half": "LDP-ASGD's squared error does not fall like 1/n for alpha below 1/2.",
    "ldp-sgd/table-1/strong/asgd/corrected": "LDP-ASGD's squared error falls like n^-min(1, 2 alpha).",
}
"""claims to begin with, each with what it found in one sentence that fits a line of a terminal"""

WHAT_TO_KNOW = (
    "At alpha = 1/2 the squared error of the average falls like 1/n, which is the best rate of the family.",
    (
        "For alpha below 1/2 the average keeps a bias, and its squared error falls like n^-2 alpha, not like 1/n "
        "as Table 1 prints, unless the risk is quadratic; the paper's 300,000 users are too few to see it."
    ),
    (
        "Both estimators are as private as the paper says, max(mu_1, ..., mu_n)-GDP with all messages seen, since"
        " every user is used once."
    ),
    (
        "The printed bounds hold wherever they were tried, and are too loose to choose a step size by: Theorem 4 "
        "holds for alpha below 1/2 only because its constant B is astronomical."
    ),
    (
        "The error depends on the budgets through the mean of 1 / mu_i^2, where the bound has the smallest "
        "budget, and under the Mallows weights it grows like d^2, where the bound is linear."
    ),
)
"""for a reader who will use the paper"""
