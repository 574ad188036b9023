"""Many passes over labelled records with a softmax model, clipped or not."""
