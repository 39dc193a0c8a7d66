"""A process that checks entries: requests, records and notes of where it is are lines of JSON."""

import faulthandler
import importlib.util
import json
import os
import sys
import types

import torch

from entry_check import check_entry


def load_bridge(path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location('sr_bridge', path)
    bridge = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bridge)
    return bridge


def unoptimised():
    """The interpreter as it is, and sums in one order: what is compared exactly must be repeatable."""
    torch.set_num_threads(1)
    torch._C._jit_set_profiling_executor(False)
    torch._C._jit_set_profiling_mode(False)
    torch._C._set_graph_executor_optimize(False)


def main():
    # What libraries print to standard output would be taken for an answer.
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    faulthandler.enable()

    def say(**message):
        print(json.dumps(message, default=str), file=answers, flush=True)

    unoptimised()
    bridge = load_bridge(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say(record=check_entry(bridge, request['entry'], lambda text: say(at=text), request['own_samples']))
        except Exception as error:
            say(failed=f'{type(error).__name__}: {error}')
            raise


if __name__ == '__main__':
    main()
