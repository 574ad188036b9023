"""Privacy accounting as a library: what is guaranteed and what is attained, composed and calibrated.

    from dpexp.accounting import Accountant, Curve, Steps, calibrate

It imports numpy and scipy, and nothing of dpexp but its errors.
"""

from dpexp.accounting.accountant import Accountant
from dpexp.accounting.curve import Curve, calibrate
from dpexp.accounting.loss_steps import Steps
from dpexp.accounting.search import Unreachable

__all__ = ["Accountant", "Curve", "Steps", "Unreachable", "calibrate"]
