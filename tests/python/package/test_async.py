"""Futures: results, errors, cancellation, asyncio, and the end of the interpreter."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref

import pytest
import torch

import modules
import sr
from modules import scripted

X = torch.randn(4, 4)


def test_result_done_and_callbacks():
    script = scripted(modules.Defaults())
    ours, called = sr.StaticModule(script), threading.Event()
    future = ours.run_async(X, times=3)
    assert isinstance(future, sr.Future)
    torch.testing.assert_close(future.result(timeout=60), X * 8)
    assert future.done() and future.exception() is None and future.cancel() is False
    future.add_done_callback(lambda done: called.set())
    assert called.wait(60)


def test_errors_travel_in_the_future_but_those_of_arguments():
    ours = sr.StaticModule(scripted(modules.Raises()))
    with pytest.raises(RuntimeError, match='aten::mm'):
        ours.run_async(-torch.ones(2, 3)).result(timeout=60)
    with pytest.raises(torch.jit.Error, match='positive'):
        ours.run_async(torch.ones(2, 2)).result(timeout=60)
    with pytest.raises(sr.ArgumentError):
        ours.run_async('text')


def test_a_result_that_cannot_be_made_is_an_error_of_the_future():
    program = torch.export.export(modules.ReturnsAnOut().eval(), (torch.ones(3),))
    ours = sr.from_exported(program)
    assert ours.run_async(torch.ones(3)).result(timeout=60).y.tolist() == [2., 2., 2.]
    future = ours.run_async(-torch.ones(3))
    with pytest.raises(ValueError, match='negative'):
        future.result(timeout=60)
    sr._C.wait_for_async_calls()  # or the process would not end


def test_timeout_and_cancel():
    ours = sr.StaticModule(scripted(modules.Slow()))
    future = ours.run_async(torch.randn(64, 64), 10 ** 8)
    with pytest.raises(TimeoutError):
        future.result(timeout=0.05)
    assert not future.done() and future.cancel() is True
    with pytest.raises(sr.CancelledError, match='stop token'):
        future.result(timeout=60)


def test_await():
    script = scripted(modules.Defaults())
    ours = sr.StaticModule(script)

    async def main():
        one = await ours.run_async(X)
        many = await asyncio.gather(*(ours.run_async(X, times=n) for n in range(20)))
        with pytest.raises(RuntimeError):
            await sr.StaticModule(scripted(modules.Raises())).run_async(-torch.ones(2, 3))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sr.StaticModule(scripted(modules.Slow())).run_async(X, 10 ** 8), 0.05)
        return one, many

    one, many = asyncio.run(main())
    torch.testing.assert_close(one, X * 2)
    for n, result in enumerate(many):
        torch.testing.assert_close(result, X * 2 ** n)


def test_the_module_may_go_before_the_result():
    future = sr.StaticModule(scripted(modules.Slow())).run_async(torch.eye(8), 2000)
    gc.collect()
    assert future.result(timeout=60).shape == (8, 8)


def test_futures_are_collected():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    future = ours.run_async(X)
    result = weakref.ref(future.result(timeout=60))
    sr._C.wait_for_async_calls()
    del future
    assert result() is None


def test_the_interpreter_ends_while_calls_go_on():
    code = '''
import torch, sr, modules
module = sr.StaticModule(modules.scripted(modules.Slow()))
futures = [module.run_async(torch.eye(64), 3000) for _ in range(4)]
for future in futures:
    future.add_done_callback(lambda done: print("done\\n", end="", flush=True))
'''
    ended = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True, timeout=120,
                           env={**__import__('os').environ, 'PYTHONPATH': ':'.join(sys.path)})
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ['done'] * 4


def test_many_coroutines_of_one_loop():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    failing = sr.StaticModule(scripted(modules.Raises()))

    async def stream(n, rounds):
        for i in range(rounds):
            x = torch.full((2, 2), float(n + i))
            torch.testing.assert_close(await ours.run_async(x, times=2), x * 4)
        with pytest.raises(RuntimeError, match='aten::mm'):
            await failing.run_async(-torch.ones(2, 3))
        return n

    async def main():
        return await asyncio.gather(*(stream(n, 20) for n in range(64)))

    loops = [threading.Thread(target=lambda: results.append(asyncio.run(main()))) for _ in range(2)]
    results = []
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join(60)
    assert results == [list(range(64))] * 2


def test_a_future_that_is_done_or_awaited_twice():
    ours = sr.StaticModule(scripted(modules.Defaults()))

    async def main():
        future = ours.run_async(X)
        future.result(timeout=60)
        first, second = await asyncio.gather(_of(future), _of(future))
        assert first is second
        return first

    async def _of(future):
        return await future

    torch.testing.assert_close(asyncio.run(main()), X * 2)


def test_a_callback_may_wait_for_another_call():
    ours, results = sr.StaticModule(scripted(modules.Slow())), []
    both = threading.Event()
    second = ours.run_async(torch.eye(64), 3000)
    first = ours.run_async(torch.eye(8), 1)

    def wait(_):
        results.append(second.result(timeout=60))
        both.set()

    first.add_done_callback(wait)
    assert both.wait(60) and results[0].shape == (64, 64)


def test_a_loop_that_closes_before_its_call_ends():
    ours = sr.StaticModule(scripted(modules.Slow()))

    async def main():
        call = asyncio.ensure_future(_awaited(futures))
        await asyncio.sleep(0.01)
        call.cancel()

    async def _awaited(futures):
        futures.append(ours.run_async(torch.eye(64), 10 ** 8))
        return await futures[0]

    futures = []
    asyncio.run(main())
    with pytest.raises(sr.CancelledError):
        futures[0].result(timeout=60)

    async def again():
        return await ours.run_async(torch.eye(4), 2)

    assert asyncio.run(again()).shape == (4, 4)
