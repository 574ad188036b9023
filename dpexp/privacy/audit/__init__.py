"""Tests of what a release gives away, from many runs in two worlds: numbers in, lower bounds out; no algorithm here."""
