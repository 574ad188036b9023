"""A privacy bound, compared with exact laws: `dpexp judge FILE` and `dpexp.judge(function, assumes=...)`."""

from dpexp.privacy.judge.answer import Verdict, judge

__all__ = ["Verdict", "judge"]
