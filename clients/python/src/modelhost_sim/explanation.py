"""Explanations of a world."""

from __future__ import annotations

from .control import ExplainSubjectAnswer


class Explanation:
    """Why a thing or a request is as it is. `str()` of it is a text for people."""

    def __init__(self, answer: ExplainSubjectAnswer) -> None:
        self.subject: str = answer["subject"]
        self.sentences: list[str] = answer["sentences"]
        """What it is and its state, and what decided that."""
        self.chain = answer["chain"]
        """The entry of the journal that decided it, then its causes back to the first."""
        self.effects = answer["effects"]
        """What came of it, oldest first."""
        self.next = answer.get("next")
        """What happens to it next. None: nothing is planned."""

    def __str__(self) -> str:
        lines = [*self.sentences]
        for title, entries in (("Causes", self.chain), ("Effects", self.effects)):
            if entries:
                lines += [f"{title}:", *(f"  {entry['at']} {entry['sentence']}" for entry in entries)]
        if self.next is not None:
            lines.append(f"Next, in {self.next['in']}: {self.next['sentence']}")
        return "\n".join(lines)
