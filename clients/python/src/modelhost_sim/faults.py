"""The faults of a world."""

from __future__ import annotations

from typing import Any

from .control import Control, ListFaultsAnswerItem

__tracebackhide__ = True


class Faults:
    """Fault rules: what they do to the answers that clients get. docs/faults.md lists the kinds."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def add(self, kind: str, *, on: str | list[str] = "*", rule: dict[str, Any] | None = None, **fault: Any) -> str:
        """Adds a rule, and returns its id.

        kind: as in "status", "reset", "latency".
        on: the operations that it applies to, as in "createLlmDeployment". Default: all.
        rule: when it applies, as in {"times": 1}, {"model": "acme/chat"}, {"in": "batch", "nth": 3}. `in_` and `from_`,
        as in keyword arguments, are accepted too.
        fault: the fields of the kind, as in status=503, effect="done".

        Raises SimulatorError for an unknown operation, kind or field.
        """
        when = {name.removesuffix("_"): value for name, value in (rule or {}).items()}
        body: Any = {"on": on, **when, "fault": {"kind": kind, **fault}}
        return self._control.add_fault(body)["id"]

    def list(self) -> list[ListFaultsAnswerItem]:
        """Lists the rules, with how often each was applied."""
        return self._control.list_faults()

    def remove(self, id: str) -> None:
        """Removes a rule."""
        self._control.remove_fault(id)

    def clear(self) -> None:
        """Removes all rules."""
        self._control.clear_faults()
