"""Estimates and confidence intervals from private messages: what users send, what a server makes of it, and when not."""
