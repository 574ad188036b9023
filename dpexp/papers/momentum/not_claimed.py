"""What `momentum` states and no claim settles, with the reason."""

from dpexp.reporting.paper import NotClaimed

DEFINITION = "a definition"
ALGORITHM = "an algorithm; what is stated of it is claimed"
NOT_CLAIMED = (
    NotClaimed(
        "Abstract",
        "O(N^(7/3) eps^(4/3) / d^(2/3)) gradient evaluations",
        "the prescribed T; as printed Algorithm 2 takes three gradients a step, one when the order repeats",
    ),
    NotClaimed(
        "Abstract, introduction, section 5",
        "The best known bound for private non-convex ERM",
        "of its time, by the authors' knowledge; no run can settle it",
    ),
    NotClaimed("Introduction", "Bounds, batch sizes and run times of previous work", "other papers' results"),
    NotClaimed(
        "Introduction, contributions",
        "A utility guarantee for any batch size",
        "no statement has a batch size: both algorithms take one record a step",
    ),
    NotClaimed(
        "Introduction, contributions",
        "Noise of only O~(sqrt(T) / (eps sqrt(N)))",
        "the printed noise, whose size theorem-4 and theorem-4/saving judge",
    ),
    NotClaimed("Definitions 1, 2, 3", "Differential privacy, sensitivity, Renyi privacy", DEFINITION),
    NotClaimed("Algorithms 1 and 2", "Pseudo-code", ALGORITHM),
    NotClaimed(
        "Algorithm 2, its box",
        "t counts from 0; zeta_t has no k, as if nodes that end together shared their noise; the anchor w_qN is that of t and not of i; "
        "w_t comes from gradients at w_t; one step too many where N divides T; V for the first two epochs, 3 log2 N, where a record "
        "is in 2 floor(log2 N) + 3 nodes, too small for N up to 5",
        "slips without a statement of their own: we count from 1, draw noise for every node, move w_(t+1), and count nodes",
    ),
    NotClaimed(
        "Algorithms 3 and 4",
        "COMPOSE and the reconstruction",
        "in an appendix that is not part of the text at hand; rebuilt from sections 3 and 4",
    ),
    NotClaimed(
        "Equations (1), (2)",
        "The momentum as two weighted sums",
        "algebra; equation-3/fixed and equation-3/reshuffled rest on them",
    ),
    NotClaimed(
        "Lemma 17",
        "Equation (3)",
        "in an appendix that is not part of the text at hand; judged where section 4 quotes it",
    ),
    NotClaimed(
        "Section 3, after Theorem 6",
        "E |m_hat - grad F| is of the order sqrt(alpha) + eta N + eta / alpha + noise",
        "a step of the proof of Theorem 6, which is judged as a whole",
    ),
    NotClaimed(
        "Section 3, after Theorem 6",
        "With reshuffling a step's gradient is biased, and at the iterate that begins the epoch it is not",
        "immediate: a fresh order puts every record at every place equally often, whatever came before the epoch",
    ),
    NotClaimed(
        "Section 4, first paragraph",
        "Variance reduction helps little in private optimization",
        "other papers' results",
    ),
    NotClaimed(
        "Section 3, main idea",
        "Iterates are functions of the momentum, and the momentum is a sum over nodes",
        "identities; the audits and oracles of Algorithm 1 rest on them",
    ),
    NotClaimed(
        "Section 4, the full-batch motivation",
        "Differences of full gradients have sensitivity O(eta / N), so that a tree has error O~(eta / (N eps))",
        "no algorithm of the paper; ours is gradient-recursion, which stands beside both in momentum_tuned",
    ),
    NotClaimed(
        "Section 4, the critical observation",
        "Terms of r and Delta have sensitivity O(eta N); m_t - m_(t-1) has no low one",
        "a step of Theorem 8, where theorem-8/proof judges it and theorem-8/completed its size with L; m_t - m_(t-N) is "
        "section-4/differences",
    ),
    NotClaimed(
        "Section 4",
        "The first two epochs need noise O~(1 / eps) only",
        "a step of Lemma 7 and Theorem 8, which are judged as a whole",
    ),
    NotClaimed(
        "Section 5, limitations",
        "Algorithm 1 runs about as long as previous work",
        "other papers' results; the run time of Algorithm 2 is section-5/run-time",
    ),
    NotClaimed(
        "Section 5",
        "Shuffling may improve the bounds; a quadratic run time is wished for",
        "open questions, put as such",
    ),
)
