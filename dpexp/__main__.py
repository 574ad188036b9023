"""`python -m dpexp`."""

from dpexp.commands.cli import main

main()
