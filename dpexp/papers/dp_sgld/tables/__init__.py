"""Tables of `dp-sgld`, one file for each table or family."""
