"""What decides the claims of `noisy-sgd`: exact laws in one dimension, so no stored results are needed."""

from dpexp.papers.noisy_sgd.claims import lower, upper

CHECKS = lower.CHECKS | upper.CHECKS
