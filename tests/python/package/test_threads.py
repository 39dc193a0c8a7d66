"""Threads that use the same Python objects at once. Under the GIL most of this cannot collide; without it, it does."""

import threading

import pytest
import torch

import modules
import sr
from modules import scripted

THREADS, ROUNDS = 8, 200


def in_threads(work):
    """Calls work(i) in THREADS threads that begin together, and raises what one of them raised."""
    begin, errors = threading.Barrier(THREADS), []

    def run(i):
        begin.wait()
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_get_one_class_for_a_named_tuple():
    for _ in range(20):
        ours, classes = sr.StaticModule(scripted(modules.Named())), [None] * THREADS

        def call(i):
            classes[i] = type(ours((torch.ones(2), torch.ones(2))))

        in_threads(call)
        assert len(set(classes)) == 1


def test_a_module_is_initialised_once():
    source = scripted(modules.Defaults())
    ours = sr.StaticModule.__new__(sr.StaticModule)
    refusals = []

    def initialise(_):
        try:
            ours.__init__(source)
        except sr.ArgumentError as error:
            refusals.append(str(error))

    in_threads(initialise)
    assert refusals == ['This StaticModule was initialised before.'] * (THREADS - 1)
    torch.testing.assert_close(ours(torch.ones(3)), source(torch.ones(3)))


def test_threads_prepare_modules_while_others_are_scripted():
    # Python has one compilation unit for all modules that it scripts.
    class Scale(torch.nn.Module):
        def __init__(self, by):
            super().__init__()
            self.by = by

        def forward(self, x):
            return x * self.by

    shared = torch.jit.script(Scale(3.0))
    x = torch.ones(2)

    def work(i):
        for n in range(40):
            source = torch.jit.trace(Scale(float(n)), x) if i == 0 else shared
            assert sr.StaticModule(source)(x).tolist() == [n if i == 0 else 3] * 2

    in_threads(work)


def test_arguments_may_change_during_a_call():
    class Nested(torch.nn.Module):
        def forward(self, pair, named):
            return pair[0] + pair[1] + named['x']

    x = torch.ones(2)
    ours = sr.compile(Nested().eval(), ([x, x], {'x': x}), frontend='export')
    pair, named = [x, x], {'x': x}

    def work(i):
        for _ in range(ROUNDS):
            if i == 0:
                pair.append(x)
                pair.pop()
            elif i == 1:
                named['x'] = x.clone()
                named['y'] = x
                del named['y']
            else:
                try:
                    assert ours(pair, named).tolist() == [3, 3]
                except (sr.ArgumentError, IndexError):
                    pass  # the call met the third element, or the second key

    in_threads(work)
    assert ours(pair, named).tolist() == [3, 3]


def test_sessions_of_threads_are_independent():
    class Count(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('total', torch.zeros(()))

        def forward(self, x):
            self.total += x.sum()
            return self.total.clone()

    ours = sr.StaticModule(scripted(Count()))

    def work(i):
        session = ours.session()
        for n in range(1, ROUNDS):
            assert session(torch.ones(i + 1)).item() == n * (i + 1)

    in_threads(work)


def test_calls_reports_and_futures_go_together():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    expected = ours(torch.ones(3)).tolist()

    def work(i):
        for n in range(ROUNDS):
            if i == 0:
                assert ours.report()['replayed_calls'] >= 0
            elif i == 1:
                assert ours.run_async(torch.ones(3)).result(timeout=60).tolist() == expected
            else:
                assert ours(torch.ones(3)).tolist() == expected
                with pytest.raises(sr.ArgumentError):
                    ours(torch.ones(3), 'text')

    in_threads(work)
