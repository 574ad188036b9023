"""Bodies of the commands: each returns what is printed."""
