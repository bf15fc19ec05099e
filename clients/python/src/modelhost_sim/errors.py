"""The errors of this package."""


class SimulatorError(Exception):
    """A request to the simulator failed.

    `status` is the HTTP status of a refusal, or 0 if there is no answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
