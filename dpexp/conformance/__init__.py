"""The conformance suite: what every problem and algorithm must do, tried on what is built in and on every plug-in.

A check is a small function with a name and a sentence about what it tries (`check`). Nothing here knows a name of
any problem or algorithm: what is added to a registry is checked without a line anywhere else.
"""
