"""Clients of a batcher beside one that sends nonsense: no answer is wrong, no client waits for ever, memory stays flat.

Ends with status 1 and a sentence if one of these does not hold.
"""

import argparse
import os
import sys
import threading
import time

import torch

import sr

ROWS, WIDTH, IDS = 32, 24, 100


class Ranking(torch.nn.Module):
    """Raises for an id outside of its table."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(IDS, 16)
        self.layers = torch.nn.Sequential(torch.nn.Linear(WIDTH + 16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def forward(self, ids, dense):
        return self.layers(torch.cat([self.table(ids), dense], 1)).squeeze(1)


def request(generator, rows):
    return (torch.randint(0, IDS, (rows,), generator=generator), torch.randn(rows, WIDTH, generator=generator))


# What a client may send that is no request; each returns when the batcher has refused or answered it.
def _refused(call, *errors):
    try:
        call()
    except errors:
        return
    raise AssertionError('nonsense was answered')


def nonsense(batcher, generator, turn):
    ids, dense = request(generator, 1 + turn % 3)
    anything = Exception
    match turn % 10:
        case 0:
            _refused(lambda: batcher(ids + IDS, dense), anything)  # the model raises
        case 1:
            _refused(lambda: batcher(ids, dense[:, :5]), anything)
        case 2:
            _refused(lambda: batcher(ids, dense, dense), sr.ArgumentError)
        case 3:
            _refused(lambda: batcher('ids', dense), sr.ArgumentError)
        case 4:
            _refused(lambda: batcher(ids.repeat(2), dense), anything)  # other numbers of rows
        case 5:
            _refused(lambda: batcher(ids.float(), dense), anything)
        case 6:
            assert batcher(ids, dense * float('nan')).isnan().all()
        case 7:
            batcher.submit(ids, dense)  # and the client vanishes
        case 8:
            batcher.submit(ids, dense).cancel()
        case 9:
            rows = 4 * ROWS  # more than a batch
            assert batcher(*request(generator, rows)).shape == (rows,)


class Clients:
    def __init__(self, batcher, model, until):
        self.batcher, self.model, self.until = batcher, model, until
        self.answers, self.refused, self.busy, self.late, self.wrong = 0, 0, 0, 0, []
        self.lock = threading.Lock()

    def good(self, seed):
        generator = torch.Generator().manual_seed(seed)
        while time.monotonic() < self.until:
            ids, dense = request(generator, 1 + seed % 4)
            try:
                result = self.batcher(ids, dense, timeout=10)
            except sr.BusyError:
                with self.lock:
                    self.busy += 1
                continue
            except sr.CancelledError:
                with self.lock:
                    self.late += 1
                continue
            except Exception as error:
                with self.lock:
                    self.wrong.append(f'a right request raised {type(error).__name__}: {error}')
                return
            with torch.no_grad():
                right = torch.allclose(result, self.model(ids, dense), atol=1e-5)
            with self.lock:
                self.answers += 1
                if not right:
                    self.wrong.append('an answer is wrong')

    def bad(self, seed):
        generator, turn = torch.Generator().manual_seed(seed), 0
        while time.monotonic() < self.until:
            try:
                nonsense(self.batcher, generator, turn)
            except sr.BusyError:
                pass
            except Exception as error:
                with self.lock:
                    self.wrong.append(f'nonsense of kind {turn % 10}: {type(error).__name__}: {error}')
            turn += 1
            with self.lock:
                self.refused += 1


def resident():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--clients', type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Ranking().eval()
    module = sr.compile(model, request(torch.Generator().manual_seed(0), 4))
    batcher = sr.Batcher(module, max_rows=ROWS, max_wait=0.0005, max_waiting=64)
    begin = time.monotonic()
    clients = Clients(batcher, model, begin + args.seconds)
    threads = [threading.Thread(target=clients.good, args=(seed,), daemon=True) for seed in range(args.clients)]
    threads.append(threading.Thread(target=clients.bad, args=(99,), daemon=True))
    for thread in threads:
        thread.start()
    time.sleep(args.seconds * 0.4)  # allocators and plans have what they need by then
    before, threads_before = resident(), threading.active_count()
    for thread in threads:
        thread.join(max(0, clients.until - time.monotonic()) + 30)
    grown, waiting = resident() - before, sum(thread.is_alive() for thread in threads)
    report, metrics = batcher.report(), module.metrics()
    print(f'{clients.answers} right answers beside {clients.refused} pieces of nonsense, {clients.busy} busy, '
          f'{clients.late} late, {report.batches} batches, {metrics["failed"]} calls of the model raised; memory grew by '
          f'{grown / 2**20:.1f} MiB')
    problems = list(dict.fromkeys(clients.wrong))
    if waiting:
        problems.append(f'{waiting} clients still wait')
    if clients.answers < 20 * args.seconds:
        problems.append(f'only {clients.answers} answers')
    if grown > 8 << 20:
        problems.append(f'memory grew by {grown} bytes')
    if threads_before != len(threads) + 1:
        problems.append('a client has died')
    for problem in problems[:10]:
        print('soak:', problem, file=sys.stderr)
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main())
