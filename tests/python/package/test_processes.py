"""Pickles, copies, and children made by fork and by spawn."""

import copy
import multiprocessing
import os
import pickle
import signal
import sys
import threading

import numpy
import pytest
import torch

import modules
import sr
from modules import scripted

X = torch.randn(3, 4)


@torch.jit.script
def function(x, factor: float = 3.0):
    return x * factor


GRAPH = 'graph(%x : Tensor, %n : int):\n  %y : Tensor = aten::mul(%x, %n)\n  return (%y)'
MADE = {
    'module': lambda: sr.StaticModule(scripted(modules.DeepWide()), planner='greedy_by_size', max_plan_bytes=30000),
    'frozen': lambda: sr.StaticModule(torch.jit.freeze(scripted(modules.DeepWide()))),
    'trace': lambda: sr.compile(modules.DeepWide().eval(), modules.DeepWide.inputs(), frontend='trace'),
    'function': lambda: sr.StaticModule(function),
    'graph': lambda: sr.StaticModule(torch._C.parse_ir(GRAPH)),
}
ARGUMENTS = {'function': (X,), 'graph': (X, 3)}


@pytest.mark.parametrize('kind', MADE)
def test_pickle(kind):
    ours, args = MADE[kind](), ARGUMENTS.get(kind, modules.DeepWide.inputs())
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is sr.StaticModule
    assert (again.frontend, again.options, again.inputs) == (ours.frontend, ours.options, ours.inputs)
    assert again.report()['planner'] == ours.report()['planner']
    twice = pickle.loads(pickle.dumps(again))
    for _ in range(4):
        torch.testing.assert_close(again(*args), ours(*args))
        torch.testing.assert_close(twice(*args), ours(*args))


def test_a_loaded_module_pickles(tmp_path):
    torch.jit.save(scripted(modules.DeepWide()), tmp_path / 'model.pt')
    ours, args = sr.load(tmp_path / 'model.pt', strict=True), modules.DeepWide.inputs()
    again = pickle.loads(pickle.dumps(ours))
    assert torch.equal(again(*args), ours(*args)) and again.options == {'strict': True}


@pytest.mark.parametrize('copied', [copy.copy, copy.deepcopy, sr.StaticModule.clone])
def test_copies_share_weights(copied):
    module = modules.DeepWide().eval()
    ours, args = sr.StaticModule(torch.jit.script(module)), modules.DeepWide.inputs()
    twin = copied(ours)
    assert twin is not ours and torch.equal(twin(*args), ours(*args))
    assert twin._prepared is ours._prepared
    assert twin.report()['pool']['made'] == ours.report()['pool']['made'] == 1  # runtimes are not


def in_child(call):
    """Forks; the child exits with 0 when `call` returns true. A child that hangs is ended and fails the test."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if call() else 2
        except BaseException as error:  # noqa: BLE001
            print('child:', repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    timer = threading.Timer(60, os.kill, (child, signal.SIGKILL))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    return os.waitstatus_to_exitcode(status)


def works(ours, args, expected):
    # Compared by NumPy: torch's operators would wait for threads of OpenMP, which a child does not have.
    results = [ours(*args) for _ in range(4)] + [ours.run_async(*args).result(timeout=30)]
    return all(numpy.allclose(result.numpy(), expected.numpy(), atol=1e-5) for result in results)


@pytest.mark.filterwarnings('ignore:.*multi-threaded.*:DeprecationWarning')
@pytest.mark.parametrize('threads', [1, 2])
def test_a_child_by_fork_can_call(threads):
    args = torch.randn(300, 300) / 30, 3  # large enough that threads share the work
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours = sr.StaticModule(scripted(modules.Slow()), max_runtimes=1)
        expected = ours(*args)
        for _ in range(3):
            ours(*args)
        ours.run_async(*args).result(timeout=60)
        assert in_child(lambda: works(ours, args, expected)) == 0
        assert works(ours, args, expected)
    finally:
        torch.set_num_threads(before)


@pytest.mark.filterwarnings('ignore:.*multi-threaded.*:DeprecationWarning')
def test_a_fork_while_others_call():
    ours = sr.StaticModule(scripted(modules.Slow()), max_runtimes=1)
    x, stop = torch.eye(32), threading.Event()
    expected = ours(x, 5)

    def work():
        while not stop.is_set():
            ours(x, 500)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        assert [in_child(lambda: works(ours, (x, 5), expected)) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def remote(module, args):
    return module(*args).numpy()


def test_a_child_by_spawn_can_call():
    ours, args = MADE['module'](), modules.DeepWide.inputs()
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        result = pool.apply_async(remote, (ours, args)).get(timeout=120)
    torch.testing.assert_close(torch.from_numpy(result), ours(*args))
