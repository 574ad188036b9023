"""The hash of the shipped pairs, written with them."""

SHA256 = "3541fb46841ba595a9fb71c3c9d96ba0"
