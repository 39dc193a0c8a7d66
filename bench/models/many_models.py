"""The memory of a small model among a thousand in one process, and the threads that they start.

./dev bench many-models prints the table of docs/guide/threading.md.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

import sr

ROWS, CALLS = 4, 5
KINDS = {
    'exported': '`torch.export.save`',
    'frozen': '`torch.jit.save` of a frozen module',
    'scripted': '`torch.jit.save`',
}


def resident_kib() -> float:
    return int(Path('/proc/self/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1024


def write_model(kind: str, file: str) -> None:
    module = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid()).eval()
    if kind == 'exported':
        torch.export.save(torch.export.export(module, (torch.ones(ROWS, 64),)), file)
    else:
        script = torch.jit.script(module)
        torch.jit.save(torch.jit.freeze(script) if kind == 'frozen' else script, file)


def served(file: str) -> sr.StaticModule:
    module = sr.load(file)
    for _ in range(CALLS):
        module(torch.ones(ROWS, 64))
    return module


def measure(file: str, models: int) -> tuple[float, int]:
    """KiB of each model, and the threads of the process that were not there before."""
    torch.set_num_threads(1)
    kept = [served(file) for _ in range(20)]  # what is made once for a process
    gc.collect()
    resident, threads = resident_kib(), len(os.listdir('/proc/self/task'))
    kept += [served(file) for _ in range(models)]
    gc.collect()
    return (resident_kib() - resident) / models, len(os.listdir('/proc/self/task')) - threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--file', help=argparse.SUPPRESS)
    parser.add_argument('--models', type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.file:
        print(json.dumps(measure(arguments.file, arguments.models)))
        return
    print(f'{arguments.models} models of two linear layers, 8 KiB of weights each, called {CALLS} times.\n')
    print('| written by | KiB a model | threads |\n|---|---:|---:|')
    with tempfile.TemporaryDirectory() as folder:
        for kind, text in KINDS.items():
            file = os.path.join(folder, kind)
            write_model(kind, file)
            command = [sys.executable, __file__, '--file', file, '--models', str(arguments.models)]
            kib, threads = json.loads(subprocess.check_output(command))
            print(f'| {text} | {kib:.0f} | {threads} |')


if __name__ == '__main__':
    main()
