"""The words a measurement is labelled with, and what a wrong definition is told."""

import dataclasses
import enum

Path = tuple[str, ...]  # where a definition stands among the nested ones, outermost first


class DefinitionError(ValueError):
    """A definition that can not be measured; the message says what is wrong in it."""


class Language(enum.Enum):
    PYTHON = 'Python'
    CPP = 'C++'


class Runtime(enum.Enum):
    """Who runs the statement. The values of those after TORCHSCRIPT are the names that runner.cpp knows."""

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
    """What tells the variants of one definition apart."""

    language: Language
    runtime: Runtime
    autograd: Autograd
    threads: int

    def words(self) -> Path:
        return self.language.value, self.runtime.value, self.autograd.value, str(self.threads)
