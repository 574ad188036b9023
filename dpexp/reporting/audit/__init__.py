"""`dpexp audit`: two neighbouring worlds of every mechanism of a config, and what their releases give away."""
