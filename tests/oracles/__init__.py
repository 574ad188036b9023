"""Literal, slow transcriptions that the clever code is held against."""
