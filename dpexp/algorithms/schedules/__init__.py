"""SCHEDULES: the registry of step-size schedules."""

from dpexp.algorithms.schedules.constant import Constant, PathLength
from dpexp.algorithms.schedules.power import Power
from dpexp.algorithms.schedules.schedule import Schedule
from dpexp.algorithms.schedules.settled import Langevin, Prescribed
from dpexp.core.parameters import Registry

__all__ = ["SCHEDULES", "Constant", "Langevin", "PathLength", "Power", "Prescribed", "Schedule"]

SCHEDULES: Registry[type[Schedule]] = Registry(
    "schedule",
    {
        "power": Power,
        "constant": Constant,
        "langevin": Langevin,
        "prescribed": Prescribed,
        "path-length": PathLength,
    },
)
