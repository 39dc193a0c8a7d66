"""The labels of a measurement, and the error for wrong definitions."""

import dataclasses
import enum

Path = tuple[str, ...]  # the labels of a nested definition, outermost first


class DefinitionError(ValueError):
    """A definition that cannot be measured; the message says why."""


class Language(enum.Enum):
    PYTHON = 'Python'
    CPP = 'C++'


class Runtime(enum.Enum):
    """The runtime of the statement. After TORCHSCRIPT, the values are names that runner.cpp knows."""

    EAGER = 'eager'
    TORCHSCRIPT = 'TorchScript'
    FROZEN = 'frozen'  # the interpreter on the frozen and optimised model
    UPSTREAM = 'upstream'  # LibTorch's own Static Runtime
    SR_GENERAL = 'sr general'
    SR_FRESH = 'sr fresh'  # replay, new tensors as results
    SR_MANAGED = 'sr managed'  # replay, results in memory of the runtime
    SR_INTO = 'sr into'  # replay, results in the caller's buffers


IN_PROGRAM = tuple(Runtime)[2:]  # measured by runner.cpp, on the model that TorchScript runs


class Autograd(enum.Enum):
    FORWARD = 'forward'
    BACKWARD = 'forward and backward'


@dataclasses.dataclass(frozen=True)
class Labels:
    """The properties that distinguish the variants of one definition."""

    language: Language
    runtime: Runtime
    autograd: Autograd
    threads: int

    def words(self) -> Path:
        return self.language.value, self.runtime.value, self.autograd.value, str(self.threads)
