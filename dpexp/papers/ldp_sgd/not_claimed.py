"""What `ldp-sgd` states and no claim settles, and why. With the claims this is every numbered statement of the paper,
every figure and table, every emphasised sentence, and what its abstract, introduction and conclusion assert."""

from dpexp.reporting.paper import NotClaimed

NOT_CLAIMED: tuple[NotClaimed, ...] = (
    NotClaimed(
        "Abstract",
        "A non-asymptotic analysis, upper bounds, guidelines regarding step size, dimension and privacy budgets.",
        "it announces Theorems 3 to 6 and Remarks 1 to 4, which are claims of their own",
    ),
    NotClaimed(
        "Abstract",
        "The problem includes the most commonly used loss functions.",
        "there is no list of them; of the losses that are run, Condition 1 holds for each and Condition 2 for none everywhere",
    ),
    NotClaimed(
        "Abstract, section 1 (third contribution), section 6",
        "Theory and numerical tests validate the estimators and affirm the asymptotic theory.",
        "a summary of everything else; its parts have different verdicts",
    ),
    NotClaimed(
        "Section 1, first contribution",
        "The analysis includes least squares and logistic regression with and without strong convexity.",
        "least squares have unbounded gradients, which Condition 1 excludes; the bounded variants of section 5 are judged",
    ),
    NotClaimed(
        "Section 1, second contribution",
        "The two estimators have divergent convergence rates under varying step sizes.",
        "it announces Table 1, each cell of which is a claim",
    ),
    NotClaimed("Definitions 1, 2", "(epsilon, delta)- and mu-Gaussian differential privacy.", "definitions"),
    NotClaimed(
        "Proposition 1",
        "The Gaussian mechanism with noise Delta / mu is mu-GDP.",
        "quoted from Dong et al. (2022); what rests on it here is measured in ldp-sgd/theorem-1",
    ),
    NotClaimed(
        "Section 3",
        "Iteration (2) with C_0 = 0 is plain SGD; the average can be updated recursively.",
        "identities; our own runs rest on them, and the tests compare both with literal loops",
    ),
    NotClaimed(
        "Section 3",
        "A step size proportional to 1 / n can perform badly; averaging has the optimal asymptotic variance.",
        "quoted from others; what happens at alpha = 1 is judged in ldp-sgd/section-5/alpha-1, the variance in "
        "ldp-sgd/table-1/variance",
    ),
    NotClaimed(
        "Condition 1, Condition 2",
        "Gradients are bounded; the risk is M-smooth and m-strongly convex.",
        "assumptions. They exclude each other on all of R^d: a strongly convex risk has a gradient of at least m times the "
        "distance. Condition 2 asks it of a set, on which the linear problem has it (m = 0.027 to a distance of 1.9); every claim takes "
        "m and M at the optimum, and says so",
    ),
    NotClaimed(
        "Condition 3",
        "Every user's Hessian is Lipschitz.",
        "an assumption. It fails for a single user in both experiments (the Huber score has corners); claims take it in the mean",
    ),
    NotClaimed("Condition 4", "The risk attains its minimum.", "an assumption; it holds in every problem that is run"),
    NotClaimed(
        "Section 3, below Theorem 1",
        "With one budget for all users the iterate is mu-GDP.",
        "the case of equal budgets of Theorem 1, in which ldp-sgd/theorem-1 also judges it",
    ),
    NotClaimed(
        "Section 4.1, below Condition 3",
        "psi_beta(t) is continuous in beta.",
        "immediate: the limit at 0 is log t; the tests of psi try it",
    ),
    NotClaimed(
        "Remarks 1 and 2, first sentences",
        "The bounds depend on the start, eta, alpha, d and the smallest budget.",
        "read off the formulas; each of these has a claim of its own",
    ),
    NotClaimed(
        "Remark 3, first sentence",
        "The bound of Theorem 5 contains the same constant as that of Theorem 3.",
        "read off the formula; what it says of d and mu is judged in ldp-sgd/remark-1/dimension and ldp-sgd/remark-1/budget",
    ),
    NotClaimed(
        "Theorem 6, third term",
        "A further term of the bound.",
        "it is cut off in the text that we have; without it the test of the theorem is the stricter",
    ),
    NotClaimed(
        "Section 5.1",
        "kappa_c is chosen to ensure the consistency of the scale.",
        "a choice; the risk's gradient at the true parameter is 0, which the tests of the problem check",
    ),
    NotClaimed(
        "Section 5.1",
        "The empirical findings cohere seamlessly with the theoretical predictions.",
        "a summary; the sentences that follow it are claims of their own",
    ),
    NotClaimed(
        "Section 5.2",
        "For logistic regression the assumption of strong convexity is no longer applicable.",
        "true, and as true of the Huber problem, whose curvature also vanishes far from the optimum. Table 1 is judged on the linear problem, and on logistic regression as an extension of ours",
    ),
    NotClaimed(
        "Section 6, future work",
        "Pinball and hinge losses, and high dimensions, need further work.",
        "open questions, put as such; both losses are judged in ldp-sgd/section-6/not-differentiable, high dimensions are not",
    ),
    NotClaimed(
        "Appendix",
        "Proofs, and figures for d = 10 and 20.",
        "it is not part of the text that we have; our own figures for d = 10 and 20 are drawn, and claims on them are ours",
    ),
)
