"""What a bug report needs: versions, and what this process runs on."""

import os
import platform
from typing import Any

import torch

from . import _C
from ._version import version


class Info(dict[str, Any]):
    """A dictionary that prints as a table."""

    def __repr__(self) -> str:
        width = max(map(len, self))
        return '\n'.join(f'{name:{width}}  {value}' for name, value in self.items())


def info() -> Info:
    """Versions, the instruction set of sr's kernels, processors and threads.

    `processors` are those that the process may use (quotas and cpusets of its container, affinity), and
    `intra_op_threads` those of torch's operators in this thread.

    >>> import sr
    >>> sorted(sr.info())[:3]
    ['built_for_torch', 'instruction_set', 'intra_op_threads']
    """
    return Info(
        sr=version, torch=torch.__version__, built_for_torch=_C.torch_version, python=platform.python_version(),
        platform=platform.platform(), instruction_set=_C.instruction_set(), processors=_C.processors(),
        processors_of_machine=os.cpu_count(), intra_op_threads=torch.get_num_threads())
