"""Configs: files that become experiments, with everything that is wrong said at its place."""
