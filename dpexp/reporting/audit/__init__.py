"""`dpexp audit`: two neighbouring worlds of every mechanism of a config, and a lower bound on the loss of their releases."""
