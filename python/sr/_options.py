"""Options of a module: what the functions take as keywords, and what the extension takes."""

from typing import Any, TypedDict

from . import _C
from .errors import ArgumentError


class Options(TypedDict, total=False):
    """Keywords of `load`, `compile` and `StaticModule`.

    planner: 'linear_scan' (default), 'standard_resizing', 'greedy_by_size' or 'no_reuse'.
    numerics: 'fast' (default; within stated ULP bounds of ATen's results) or 'exact' (bit-equal to the interpreter).
    enable_out_variant: False runs native functions and the interpreter only.
    optimize_memory: False gives every tensor separate memory.
    manage_output_tensors: True recycles results once the caller has let go of them.
    enable_replay: False keeps to the general path; max_plan_bytes: of memory for plans (default 1 MiB).
    enable_families: False makes a plan for each combination of sizes, instead of one for calls that differ in them.
    check_every: compares every N-th replay with the interpreter (default 0: as the variable SR_CHECK says).
    freeze_weights: True promises that the weights of the model do not change; calls then need not look.
    updatable_weights: True keeps the weights of a file apart from the program, so that `update` can replace them.
    spill_weights: False keeps the originals of packed weights in memory. By default those of a loaded file move to a
        temporary file.
    strict: True refuses a model that needs the interpreter.
    least_image_bytes: batches go through convolutions image by image where a step accesses so many bytes of an image.
    without_passes: names of passes over the graph to leave out.
    max_runtimes: calls at once (default 256); timeout: seconds that a call waits for one of them, None for ever.
    intra_op_threads: of each call (default 0: as the calling thread has it, but no more than `sr.processors()`).
    """

    planner: str
    numerics: str
    enable_out_variant: bool
    optimize_memory: bool
    manage_output_tensors: bool
    enable_replay: bool
    max_plan_bytes: int
    check_every: int
    enable_families: bool
    freeze_weights: bool
    updatable_weights: bool
    spill_weights: bool
    strict: bool
    least_image_bytes: int
    without_passes: list[str]
    max_runtimes: int
    timeout: float | None
    intra_op_threads: int


OF_POOL: dict[str, Any] = {'planner': 'linear_scan', 'max_runtimes': 256, 'timeout': None, 'intra_op_threads': 0}
OF_MODULE: dict[str, Any] = _C.option_defaults()
PLANNERS = _C.planner_names()


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """The same options. Raises ArgumentError if there is no such option."""
    for name in options:
        if name not in OF_POOL and name not in OF_MODULE:
            raise ArgumentError(f"There is no option '{name[:80]}'; there are {', '.join([*OF_POOL, *OF_MODULE])}.")
    if (planner := options.get('planner', 'linear_scan')) not in PLANNERS:
        raise ArgumentError(f"The option `planner` is {str(planner)[:80]!r}; expected one of {', '.join(PLANNERS)}.")
    return options


def of_module(options: dict[str, Any]) -> _C.Options:
    """Raises ArgumentError for a value of a wrong type."""
    return _C.Options(**{name: value for name, value in options.items() if name in OF_MODULE})


def of_restored(options: dict[str, Any], replaced: dict[str, Any]) -> _C.Options:
    """Of a pickled module, in which `replaced` weights of its archive were updated."""
    return of_module(options | {'updatable_weights': True} if replaced else options)


def of_pool(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options.get(name, default) for name, default in OF_POOL.items()}
