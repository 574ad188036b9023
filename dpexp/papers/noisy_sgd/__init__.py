"""`noisy-sgd`: the privacy loss of the last iterate of projected noisy SGD on convex losses stops growing."""

from dpexp.papers.noisy_sgd.claims import CHECKS
from dpexp.papers.noisy_sgd.figures import FIGURES
from dpexp.reporting.paper import Paper, in_captions, in_rows, in_words

PAPER = Paper(
    id="noisy-sgd",
    title="Privacy of noisy stochastic gradient descent: more iterations without more privacy loss",
    authors="Jason M. Altschuler, Kunal Talwar",
    claims=in_rows(__file__, CHECKS),
    figures=in_captions(__file__, "noisy-sgd", FIGURES),
    **in_words(__file__),
)
