"""Mechanisms, privacy budgets and what can be guaranteed of them."""
