"""Estimates and confidence intervals from private messages: what users send, and what a server makes of it."""
