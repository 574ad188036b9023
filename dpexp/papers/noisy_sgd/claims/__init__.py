"""What settles the claims of `noisy-sgd`: settled by exact laws in one dimension, so no stored results are needed."""

from dpexp.papers.noisy_sgd.claims import appendix, lower, sections, upper

CHECKS = appendix.CHECKS | lower.CHECKS | sections.CHECKS | upper.CHECKS
