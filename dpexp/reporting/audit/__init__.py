"""AUDITS: what `dpexp audit CONFIG` can run in two worlds, one file for each kind of run."""

from dpexp.reporting.audit.auditable import Audits
from dpexp.reporting.audit.batches import audits_of_batches
from dpexp.reporting.audit.sums import audits_of_sums
from dpexp.reporting.audit.users import audits_of_users

__all__ = ["AUDITS"]

AUDITS: tuple[Audits, ...] = (audits_of_users, audits_of_batches, audits_of_sums)
"""The first that knows a cell's algorithm and problem says what is audited of it."""
