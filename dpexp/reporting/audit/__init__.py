"""`dpexp audit`: two neighbouring worlds of every mechanism of a config, and lower bounds from their releases."""
