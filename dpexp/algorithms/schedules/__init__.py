"""SCHEDULES: the registry of step-size schedules."""

from dpexp.algorithms.schedules.constant import Constant, PathLength
from dpexp.algorithms.schedules.power import Power
from dpexp.algorithms.schedules.schedule import Schedule
from dpexp.algorithms.schedules.settled import LangevinSchedule, Prescribed
from dpexp.core.parameters import Registry

__all__ = ["SCHEDULES", "Constant", "LangevinSchedule", "PathLength", "Power", "Prescribed", "Schedule"]

SCHEDULES: Registry[type[Schedule]] = Registry(
    "schedule",
    {
        "power": Power,
        "constant": Constant,
        "langevin": LangevinSchedule,
        "prescribed": Prescribed,
        "path-length": PathLength,
    },
)
