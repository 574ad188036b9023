"""One pass over fresh users with a linear predictor: every setting, eight replicates at once."""
