"""What `noisy-sgd` states and no claim settles, with the reason."""

from dpexp.reporting.paper import NotClaimed

RECALLED = "recalled from the literature, and used as such; nothing of the paper rests on a new form of it"
DEFINITION = "a definition"
NOT_CLAIMED = (
    NotClaimed(
        "Abstract",
        "Our techniques readily extend to other settings",
        "a programme; Theorem 5.1 is what is stated of it",
    ),
    NotClaimed("Question 1.1", "The privacy loss as a function of the number of iterations", "a question"),
    NotClaimed(
        "Question 1.2", "Does the privacy loss increase ad infinitum?", "a question; theorem-1-3/stops is the answer"
    ),
    NotClaimed(
        "Equation (1.1)",
        "Previous bounds grow like T",
        "other papers' bounds; figure-1 draws the linear one beside the new",
    ),
    NotClaimed("Sections 1.1 and 1.4", "Previous analyses, private sampling, utility", "about other papers' results"),
    NotClaimed(
        "Section 1.4",
        "Bounds on privacy should not depend on the dimension",
        "immediate: no bound of the paper has a dimension in it",
    ),
    NotClaimed(
        "Section 1.2, extensions",
        "With strong convexity the threshold is logarithmic in n, and no longer linear",
        "of the bounds, by their formulas; of exact laws theorem-5-1/stops and section-1-3/true-answer say it",
    ),
    NotClaimed(
        "Section 1.2, after Theorem 1.3",
        "Dn / (L eta) steps are what two processes need to reach opposite ends of the set",
        "the reason for the formula; theorem-1-3/stops and theorem-1-3/tight judge the formula",
    ),
    NotClaimed("Footnote 4", "Papers scale the noise differently", "conventions; NOTATION.md has ours"),
    NotClaimed(
        "Section 1.2, mild assumptions",
        "The range of parameters, in words",
        "theorem-1-3/large-range and theorem-3-1/conditions judge the conditions themselves",
    ),
    NotClaimed(
        "Section 1.3",
        "Three scenarios, the way of the proof",
        "judged by its results, (3.6) and Theorem 4.1; the remark on T-bar is section-1-3/true-answer",
    ),
    NotClaimed(
        "Section 1.2, boundedness",
        "Losing the diameter costs a logarithm by private selection",
        "cited, and not part of a bound",
    ),
    NotClaimed(
        "Section 1.2, smoothness", "Smoothing relaxes the assumption", "cited techniques, no bound is printed for them"
    ),
    NotClaimed(
        "Section 1.2, Lipschitzness",
        "L may be taken as M D",
        "immediate; the quadratic walks of theorem-3-1/printed use it",
    ),
    NotClaimed("Definitions 2.2, 2.3, 2.4", "Differential privacy, Renyi divergence, Renyi privacy", DEFINITION),
    NotClaimed("Lemma 2.5", "From Renyi to (eps, delta)", RECALLED + "; conversions are held against published values"),
    NotClaimed(
        "Lemmas 2.1, 2.6 to 2.9, 5.5, Observation 5.4",
        "Gradient steps contract; quasi-convexity, post-processing, composition",
        RECALLED,
    ),
    NotClaimed("Definitions 2.13, 2.14", "Contractive noisy iteration, shifted divergence", DEFINITION),
    NotClaimed("Lemma 2.15", "Shift reduction", RECALLED + "; propositions 2.17, 3.2 and 5.6 are judged as a whole"),
    NotClaimed(
        "Lemma 2.16",
        "Contraction reduction for random contractions",
        "a step of propositions 2.17 and 3.2, which are judged as a whole",
    ),
    NotClaimed("Observation 3.3", "Averages of contractions contract", "immediate from Lemma 2.1"),
    NotClaimed(
        "Equations (3.1) to (3.5), (5.2), (A.1), (A.2), appendices A.1 to A.3",
        "Steps of proofs",
        "judged by their results: (3.6), (5.3), the lemmas and Theorem 4.1; what is misprinted is claimed",
    ),
    NotClaimed(
        "Footnote 10",
        "For b >= n/5 a proof without Lemma 2.12",
        "used in theorem-1-3/tight, where its bound is evaluated",
    ),
    NotClaimed(
        "Section 4, proof sketch",
        "Stochastic dominance, no projections, the constant regime suffices",
        "steps of the proof; appendix-a4/suffices, observation-a-1 and theorem-4-1 judge what can be off",
    ),
    NotClaimed(
        "Lemma 5.7",
        "Contraction reduction for c-contractions",
        "a step of proposition 5.6, which is judged as a whole; it refers to itself where Lemma 2.16 is meant",
    ),
    NotClaimed(
        "Section 6", "Averages, adaptive steps, general techniques", "open questions, put as such; clipping is claimed"
    ),
    NotClaimed(
        "Section 6, beyond convexity",
        "There are simple non-convex examples whose privacy loss diverges",
        "none is given. On a bounded set there is none: section-1-2/convexity has a bound for every T. Without one, "
        "linear losses diverge too",
    ),
)
