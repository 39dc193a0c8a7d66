"""The private memory of a worker that serves one model, for each way to start workers.

./dev bench workers prints the table of docs/guide/threading.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import torch

import sr

LAYERS, BATCH, CALLS = 6, 8, 5
WAYS = {
    'spawn': 'a separate process that loads the file (`spawn`, `exec`)',
    'spawn_kept': 'the same with `spill_weights=False`',
    'spawn_mapped': 'the same with `map_weights=True`',
    'fork_loaded': '`fork()` after the parent has loaded the model, and never called it',
    'fork_called': '`fork()` after the parent has called the model with the sizes of its requests',
    'thread': 'a thread of one process, with a runtime of the pool',
}


def private_mib() -> float:
    """What only this process holds and the system cannot drop."""
    lines = Path('/proc/self/smaps_rollup').read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith('Private_Dirty')) / 1024


def call(module, width: int) -> None:
    for _ in range(CALLS):
        module(torch.ones(BATCH, width))


def in_child(work) -> float:
    """The private memory of a child of fork() after `work`."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        work()
        os.write(writer, str(private_mib()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        found = float(answer.read())
    os.wait()
    return found


def measure(way: str, file: str, width: int) -> float:
    """What a worker takes beyond the same process without the model."""
    torch.set_num_threads(1)
    empty = private_mib()
    if way.startswith('spawn'):
        module = sr.load(file, map_weights=way == 'spawn_mapped', spill_weights=way != 'spawn_kept')
        call(module, width)
        return private_mib() - empty
    module = sr.load(file)
    if way == 'fork_loaded':
        return in_child(lambda: call(module, width)) - in_child(lambda: None)
    call(module, width)
    if way == 'fork_called':
        return in_child(lambda: call(module, width)) - in_child(lambda: None)
    before, threads = private_mib(), 8
    barrier = threading.Barrier(threads)

    def serve() -> None:
        torch.set_num_threads(1)
        barrier.wait()
        for _ in range(20):  # so that they overlap
            call(module, width)

    workers = [threading.Thread(target=serve) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (private_mib() - before) / threads


def write_model(file: str, width: int) -> None:
    layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    batch = torch.export.Dim('batch', min=1, max=1024)
    program = torch.export.export(
        torch.nn.Sequential(*layers).eval(), (torch.ones(BATCH, width),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(program, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--way', choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument('--file', help=argparse.SUPPRESS)
    parser.add_argument('--width', type=int, default=2048, help='of the layers, which are square')
    parser.add_argument('--rounds', type=int, default=3, help='of which the median counts')
    arguments = parser.parse_args()
    if arguments.way:
        print(json.dumps(measure(arguments.way, arguments.file, arguments.width)))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, 'model.pt2')
        write_model(file, arguments.width)
        os.sync()  # pages that are still to be written count as dirty
        size = os.path.getsize(file) / 1024 / 1024
        print(f'A model of {size:.0f} MiB, called with {BATCH} rows.\n')
        print('| worker | private MiB |\n|---|---|')
        for way, text in WAYS.items():
            command = [sys.executable, __file__, '--way', way, '--file', file, '--width', str(arguments.width)]
            found = sorted(json.loads(subprocess.check_output(command)) for _ in range(arguments.rounds))
            print(f'| {text} | {found[len(found) // 2]:.0f} |')


if __name__ == '__main__':
    main()
