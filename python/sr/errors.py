"""The exceptions of sr. Exceptions of operators keep the types that they have in torch."""

from typing import Any


class Error(RuntimeError):
    """Base of all of them."""


class LoadError(Error):
    """The file is missing, truncated, damaged, or not a TorchScript archive."""


class UnsupportedOpError(Error):
    """The model holds something that cannot be run here, or that `strict` forbids; names the node and its line.

    `operators` has the names of the nodes that cannot be run; empty if no node is the reason.
    """

    def __init__(self, message: str, operators: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.operators = operators


class ArgumentError(Error, TypeError, ValueError):
    """Wrong number, name, type, size or device of an argument or an output buffer, or an option there is not.

    `argument` is the name of the argument; None if no single argument of the call is the reason.
    """

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument


class BusyError(Error):
    """All runtimes of the module were in use for longer than `timeout`, or a call of the session is running."""


class StateError(Error):
    """A call raised and left the state of the session partly written. `reset` or `load` sets it again."""


class CancelledError(Error):
    """`Future.cancel` ended the call."""


class QuantizationError(Error):
    """A quantized model loses more than the bounds allow; `report` has its layers and its loss."""

    def __init__(self, message: str, report: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.report = report
