"""Statements of `momentum` (Tran and Cutkosky): plain numbers in, bounds, schedules and multipliers out."""
