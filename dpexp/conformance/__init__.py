"""The conformance suite: what everything in a registry must do, tried on what is built in and on every plug-in.

A check is a small function with a name and a sentence that says what it tries (`check`). Checks are grouped by the kind
of thing that they are for, one file for each kind, and `suite` puts them together. Nothing here knows a name of any
problem, algorithm, figure or claim: what is added to a registry is checked without a line anywhere else.
"""
