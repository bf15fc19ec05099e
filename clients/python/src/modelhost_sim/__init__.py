"""A client of modelhost-sim, the simulator of a model-hosting cloud. Standard library alone."""

from ._transport import ServerEvent
from .clock import Clock
from .control import Control
from .errors import SimulatorError
from .explanation import Explanation
from .faults import Faults
from .simulator import Simulator

__all__ = ["Clock", "Control", "Explanation", "Faults", "ServerEvent", "Simulator", "SimulatorError"]
