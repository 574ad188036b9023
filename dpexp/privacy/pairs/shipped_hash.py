"""The hash of the shipped pairs, written with them."""

SHA256 = "907afb204a9239029c29273d63457e79"
