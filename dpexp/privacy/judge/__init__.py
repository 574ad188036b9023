"""A bound on the privacy loss, held against exact laws: `dpexp judge FILE` and `dpexp.judge(function, assumes=...)`."""

from dpexp.privacy.judge.answer import Verdict, judge

__all__ = ["Verdict", "judge"]
