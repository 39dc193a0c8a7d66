"""References, threads and cycles."""

import gc
import os
import sys
import threading
import weakref

import pytest
import torch

import modules
import sr
from modules import scripted

CALLS = int(os.environ.get('SR_PYTHON_CALLS', 1_000_000))


def counts(*objects):
    return [sys.getrefcount(value) for value in objects]


@pytest.mark.parametrize('kind', ['position', 'keyword', 'out', 'list', 'error', 'async'])
def test_no_reference_is_left(kind):
    ours = sr.StaticModule(scripted(modules.Defaults()))
    nested = sr.StaticModule(scripted(modules.Nested()))
    x, y, buffer, start = torch.ones(3), torch.zeros(3), torch.zeros(3), {'start': torch.ones(3)}
    pairs = [(x, y)]
    calls = {
        'position': lambda: ours(x, 2.0, y),
        'keyword': lambda: ours(x, shift=y),
        'out': lambda: ours(x, out=buffer),
        'list': lambda: nested(pairs, start, True),
        'error': lambda: pytest.raises(sr.ArgumentError, ours, x, 'text'),
        'async': lambda: ours.run_async(x, shift=y).result(timeout=60),
    }
    held = (x, y, buffer, pairs, start, ours, nested, None, True, 2.0)
    for _ in range(50):
        calls[kind]()
    sr._C.wait_for_async_calls()
    gc.collect()
    before, uses = counts(*held), x._use_count()
    for _ in range(2000):
        calls[kind]()
    sr._C.wait_for_async_calls()
    gc.collect()
    after = counts(*held)
    assert x._use_count() == uses
    assert all(abs(b - a) < 100 for a, b in zip(before, after)), (before, after)  # None moves with everything
    assert after[:7] == before[:7]


def test_results_are_freed():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    for _ in range(5):
        result = weakref.ref(ours(torch.ones(3)))
        assert result() is None


def test_modules_are_collected_without_the_collector():
    gc.disable()
    try:
        for call in (lambda m: m(torch.ones(3)), lambda m: m.run_async(torch.ones(3)).result(timeout=60),
                     lambda m: m.report(), lambda m: m.clone()):
            module = sr.compile(modules.Defaults())
            call(module)
            sr._C.wait_for_async_calls()
            gone = weakref.ref(module)
            del module
            assert gone() is None
    finally:
        gc.enable()


def test_a_module_may_be_in_a_cycle():
    class Own(sr.StaticModule):
        pass

    module = Own(scripted(modules.Defaults()))
    module.self = module
    gone = weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None


def test_a_subclass_with_a_call_of_its_own():
    class Doubled(sr.StaticModule):
        def __call__(self, x):
            return super().__call__(x) * 2

    assert torch.equal(Doubled(scripted(modules.Defaults()))(torch.ones(2)), torch.full((2,), 4.0))


def test_many_calls_from_eight_threads():
    script = scripted(modules.DeepWide())
    ours, threads = sr.StaticModule(script), 8
    cases = [modules.DeepWide.inputs(batch) for batch in (1, 2, 3, 1)]
    with torch.no_grad():
        expected = [script(*case) for case in cases]
    for case in cases * 3:
        ours(*case)
    held = [tensor for case in cases for tensor in case]
    before = counts(*held)
    wrong = []

    def work(first):
        for i in range(CALLS // threads):
            n = (first + i) % len(cases)
            if not torch.allclose(ours(*cases[n]), expected[n], atol=1e-5):
                wrong.append(n)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    del workers
    assert wrong == []
    assert counts(*held) == before
    assert 1 <= ours.report()['pool']['made'] <= threads
    assert ours.report()['pool']['in_use'] <= 1  # its own
