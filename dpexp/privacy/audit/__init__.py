"""Tests of the privacy loss of a release, from many runs in two worlds: numbers in, lower bounds out."""
