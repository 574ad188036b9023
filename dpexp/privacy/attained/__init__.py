"""What a pair of neighbouring data sets attains: lower bounds and exact laws of single pairs."""
