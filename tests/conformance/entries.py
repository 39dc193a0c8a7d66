"""The entries of PyTorch's own database of operators, and their samples."""

import contextlib
import functools
import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import torch

# Values come from uninitialised memory.
UNINITIALISED = {'empty', 'empty_like', 'empty_permuted', 'empty_strided', 'new_empty', 'new_empty_strided',
                 'resize_', 'resize_as_'}

# Indices and offsets are not checked: arguments other than samples' read and write anywhere.
UNCHECKED = {'_unsafe_masked_index', '_unsafe_masked_index_put_accumulate'}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What torch warns of in samples, tracing and deprecated operators is no finding of ours."""
    with warnings.catch_warnings():
        for category in (torch.jit.TracerWarning, UserWarning, FutureWarning, DeprecationWarning):
            warnings.simplefilter('ignore', category)
        yield


@functools.cache
def database() -> dict[str, Any]:
    """OpInfos by name; those that differ only in their test bear it behind a slash."""
    with quiet():
        from torch.testing._internal.common_methods_invocations import op_db
    return {op.name + (f'/{op.variant_test_name}' if op.variant_test_name else ''): op for op in op_db}


def dtypes_of(op: Any) -> list[torch.dtype]:
    return sorted(op.supported_dtypes('cpu'), key=str)


def seed_all(seed: int):
    torch.manual_seed(seed)
    numpy.random.seed(seed)
    random.seed(seed)


def samples_of(op: Any, dtype: torch.dtype, seed: int) -> list[Any]:
    """The samples in order; another seed changes values, and nothing else in most entries."""
    seed_all(seed)
    return list(op.sample_inputs('cpu', dtype, requires_grad=False, set_seed=False))
