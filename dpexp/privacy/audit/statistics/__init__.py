"""Statistics of a release, one file each: they decide the power of a test, and never its validity."""
