"""The time of a world."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from .control import AdvanceClockAnswer, Control, NextClockAnswer, UntilClockAnswer
from .errors import SimulatorError

__tracebackhide__ = True


class Clock:
    """The clock of a world. Durations are text as in "90s" and "1h30m", seconds, or a timedelta."""

    def __init__(self, control: Control) -> None:
        self._control = control

    @property
    def now(self) -> datetime:
        """The time of the world."""
        return datetime.fromisoformat(self._control.get_clock()["now"])

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the world."""
        return self._control.get_clock()["elapsed_seconds"]

    def advance(self, by: str | float | timedelta) -> AdvanceClockAnswer:
        """Moves time by a duration. All events on the way happen."""
        return self._control.advance_clock(by=duration(by))

    def advance_to(self, time: str | datetime) -> AdvanceClockAnswer:
        """Moves time to a time with a time zone."""
        return self._control.advance_clock(to=time if isinstance(time, str) else time.isoformat())

    def next(self, *, visible: bool = False, within: str | float | timedelta | None = None) -> NextClockAnswer:
        """Moves time to the next event, or to the next change that a client could see."""
        return self._control.next_clock(visible=visible, within=None if within is None else duration(within))

    def until(
        self, get: str, where: Any, *, within: str | float | timedelta = "24h"
    ) -> UntilClockAnswer:
        """Moves time until a GET of the service returns what `where` describes.

        For a number, `where` can have a range, as in `{"request_counts": {"completed": "50.."}}`.
        Raises SimulatorError if it does not within the duration; the message has the last answer.
        """
        answer = self._control.until_clock(get=get, where=where, within=duration(within))
        if not answer["reached"]:
            raise SimulatorError(
                f"Failed to reach {where} by GET {get} within {duration(within)}: "
                f"the last answer is {answer['last']['status']} {answer['last']['body']}. "
                "See sim.control.list_troubles(), or give a longer time."
            )
        return answer

    def sleep(self, seconds: float) -> None:
        """Moves time by seconds, for clients that take a function in place of `time.sleep`."""
        self.advance(seconds)


def duration(value: str | float | timedelta) -> str:
    """Returns a duration as the control plane reads it."""
    if isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not 0 <= seconds < 1e12:
        raise ValueError(f"Failed to read a duration: {value!r} is out of range. Give 0 seconds or more.")
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"
