"""What `dp-sgld` states and no claim settles, with the reason."""

from dpexp.reporting.paper import NotClaimed

DEFINITION = "a definition"
PROOF = "a step of a proof, judged by its result"
NOT_CLAIMED = (
    NotClaimed(
        "Abstract",
        "We extend the analysis to arbitrary varying steps and derive utility bounds",
        "theorem-3-3, lemma-11 and theorem-4-2 are that",
    ),
    NotClaimed("Introduction", "DP-SGD's epsilon grows like sqrt(K); previous work", "other papers' results"),
    NotClaimed(
        "Contributions, first item",
        "The same privacy guarantees as full-batch DP-GLD",
        "it is Theorem 3.1, which theorem-3-1 and theorem-3-1/full-batches judge",
    ),
    NotClaimed(
        "Contributions, second and third item",
        "Utility similar to DP-GLD's up to a term of the batches, which decreasing steps remove",
        "lemma-7, lemma-7/floor and lemma-11/terms are that; full batches are utility/relaxed-step",
    ),
    NotClaimed(
        "Contributions, note",
        "The algorithm is similar to that of Welling and Teh, without their aim of a posterior",
        "a relation to another paper; nothing rests on it",
    ),
    NotClaimed(
        "Section 3.3, after Theorem 3.3",
        "The privacy loss converges if the steps sum to infinity",
        "immediate from the formula, which theorem-3-3 judges",
    ),
    NotClaimed("Definitions 2.1, 2.2", "Differential privacy, Renyi privacy", DEFINITION),
    NotClaimed(
        "Proposition 2.1",
        "From Renyi to (eps, delta)",
        "recalled from Mironov; conversions are held against published values",
    ),
    NotClaimed(
        "Algorithm 1, equations (1), (2), (3)",
        "The algorithm and its tracing diffusion",
        "definitions; their index is theorem-3-1/index",
    ),
    NotClaimed(
        "Section 3, batches",
        "A record is in a batch once, with probability m / n",
        "a convention: with replacement means that a subset is drawn and put back",
    ),
    NotClaimed(
        "Proof of Theorem 3.3",
        "The way from equation (5) to the bound",
        PROOF + "; its a_2 has alpha twice, which the last line has once",
    ),
    NotClaimed("Definitions 3.1, 3.2", "Coupled tracing diffusions, log-Sobolev inequality", DEFINITION),
    NotClaimed(
        "Equation (4), equation (5)",
        "The dynamics, with the sensitivity inserted",
        "lemma-3-2 is (4); (5) rests on lemma-sensitivity, which is false given the batch",
    ),
    NotClaimed(
        "Section 3.3, side note",
        "|theta*| is at most L / lambda and sqrt(2 L(0) / lambda)",
        "immediate from optimality; a stray c is printed before the gradient",
    ),
    NotClaimed("Equation (6)", "The average empirical risk", DEFINITION),
    NotClaimed(
        "Equations (8), (9), (10)",
        "Co-coercivity and the recursion of lemma (7)",
        PROOF + "; (10) loses a factor 2 of the xi^2 term, which lemma-7 names",
    ),
    NotClaimed(
        "Section 4.1, side note",
        "Experiments show that the factor lambda / beta is not negligible",
        "it is beta / lambda of table 4, which theorem-4-2/improves prints; what the factor is worth is "
        "theorem-4-2/improves-the-error",
    ),
    NotClaimed(
        "Section 4.2, Theorem 4.2, its privacy",
        "With decreasing steps and the prescribed sigma and K the algorithm is private",
        "not settled: the proof rests on Theorem 3.1, which is false; but K is (4 L^2 / (lambda sigma^2 d))^2 lambda / beta or more, "
        "and so many steps end too short for our examples to show. What the theorem bounds is an average, which Theorem 3.1 does not release",
    ),
    NotClaimed(
        "Section 4.2, proof of Theorem 4.2", "log(1 + x) / x is at most 1 / sqrt(1 + x)", "recalled from the literature"
    ),
    NotClaimed(
        "Section 5, second paragraph",
        "Public pre-training improves accuracy and costs no privacy",
        "pre-trained networks are not at hand; that public data cost nothing is immediate",
    ),
    NotClaimed(
        "Section 5.2, first paragraph",
        "Other settings are tuned for the best accuracy of each method",
        "how is not stated, and a choice among private runs costs privacy; table-1/tuned chooses on validation records",
    ),
    NotClaimed(
        "Section 5.2, second and third paragraph",
        "Results are to be taken cautiously; simple models compete with deep ones",
        "a caution, and another paper's conclusion; the numbers behind it are table-3",
    ),
    NotClaimed(
        "Contributions, section 5.2, tables 1 to 3",
        "DP-SGLD is more accurate than DP-SGD, almost closes or considerably reduces the gap; DP-SGD does not gain from more parameters",
        "not testable here: data and pre-trained networks are not at hand. What is printed is table-1/printed; ours are table-1/ordering "
        "and those that follow it, on Fashion-MNIST and Adult, beside the printed numbers",
    ),
    NotClaimed(
        "Table 2",
        "Decreasing steps",
        "in the authors' code --decreasing changes noise and accounting, and the optimiser's step stays: not a run, so not settled by one",
    ),
    NotClaimed(
        "Tables 1 to 3",
        "Which accuracy is printed",
        "the authors' main.py reports the best epoch on the test set, a choice that neither privacy nor accuracy accounts for; ours are "
        "final iterates",
    ),
    NotClaimed(
        "Table 4, beta and beta / lambda",
        "Smoothness of the features",
        "features are not at hand; beta / lambda implies lambda = 0.001 and 0.005",
    ),
    NotClaimed("Section 6", "Relaxing smoothness and strong convexity", "an open challenge, put as such"),
    NotClaimed("Appendix D", "Sizes and class shares of the data sets", "facts about data that are not at hand"),
)
