"""Labelled records and tables of records, shipped or the user's own."""
