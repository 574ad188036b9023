"""Tables of `ldp-sgd`, one file for each table or family."""
