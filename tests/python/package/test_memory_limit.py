"""A process whose memory is at its limit: calls that need more raise, and others are answered."""

import subprocess
import sys

PROGRAM = """
import resource, threading
import sr, torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
network = nn.Sequential(nn.Linear(64, 4096), nn.GELU(), nn.Linear(4096, 8)).eval()
small, large = torch.randn(3, 64), torch.randn(20_000, 64)  # of which the network makes 0.3 GB
with torch.no_grad():
    of_small, of_large = network(small), network(large)
module = sr.compile(network, (small,), intra_op_threads=1)
batcher = sr.Batcher(module, max_rows=8)
for _ in range(5):
    module(small), batcher(small), batcher.submit(small).result()

answered, wrong, stop = [0] * 3, [], threading.Event()

def call(i, run):
    while not stop.is_set():
        if not torch.allclose(run(small), of_small, atol=1e-4):
            wrong.append(i)
        answered[i] += 1

threads = [threading.Thread(target=call, args=(i, run)) for i, run in
           enumerate([module, batcher, lambda x: batcher.submit(x).result()])]
for thread in threads:
    thread.start()
while not all(answered):
    pass
with open('/proc/self/statm') as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (96 << 20), resource.RLIM_INFINITY))
refused = 0
before = list(answered)
for run in [module, batcher, lambda x: batcher.submit(x).result()] * 4:
    try:
        run(large)
    except (MemoryError, RuntimeError) as error:
        assert 'memory' in str(error).lower() or 'alloc' in str(error).lower() or isinstance(error, MemoryError), error
        refused += 1
while any(now <= then for now, then in zip(answered, before)):
    pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for run in module, batcher, lambda x: batcher.submit(x).result():
    assert torch.allclose(run(large), of_large, atol=1e-4)
stop.set()
for thread in threads:
    thread.join()
assert refused == 12 and not wrong, (refused, wrong)
print('answered', min(answered) > 10)
"""


def test_a_call_that_finds_no_memory_raises_and_others_are_answered():
    done = subprocess.run([sys.executable, '-c', PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == 'answered True', done.stderr[-3000:]
