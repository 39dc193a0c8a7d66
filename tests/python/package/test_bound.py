"""Calls whose arguments and results are tensors that stay."""

import gc
import threading
import weakref

import numpy
import pytest
import torch

import sr


class Two(torch.nn.Module):
    def forward(self, x, y, scale: float = 2.0):
        return {'sum': (x + y) * scale, 'row': (x * y).sum(1)}


@pytest.fixture
def module():
    return sr.compile(Two().eval())


def wanted(x, y, scale=2.0):
    return (x + y) * scale, (x * y).sum(1)


def test_reads_and_writes_the_same_tensors(module):
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    out = torch.empty(4, 3), torch.empty(4)
    call = module.bind(x, y, out=out)
    assert isinstance(call, sr.BoundCall) and call.is_replayed
    for _ in range(3):
        x.add_(1)
        assert call() is out
        torch.testing.assert_close(out, wanted(x, y))
    assert [tensor.data_ptr() for tensor in call.outputs] == [tensor.data_ptr() for tensor in out]


def test_makes_the_outputs(module):
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    call = module.bind(x, y=y, scale=3.0)
    y.mul_(2)
    returned = call()
    assert returned is call() and len(returned) == 2
    torch.testing.assert_close(returned, wanted(x, y, 3.0))
    one = sr.compile(torch.nn.ReLU()).bind(x)
    torch.testing.assert_close(one(), x.relu())


def test_numpy_arrays(module):
    x, y = (numpy.ones((4, 3), numpy.float32) for _ in range(2))
    out = numpy.empty((4, 3), numpy.float32), numpy.empty(4, numpy.float32)
    call = module.bind(x, y, out=out)
    x += 1
    assert call() is out
    numpy.testing.assert_allclose(out[0], 6)


def test_resized_arguments_are_followed(module):
    x, y = torch.randn(4, 3), torch.randn(3)
    call = module.bind(x, y, out=[torch.empty(4, 3), torch.empty(4)])
    x.resize_(8, 3).fill_(1)
    with pytest.raises(sr.ArgumentError, match='Output tensor 0'):
        call()
    for tensor, size in zip(call.outputs, ((8, 3), (8,))):
        tensor.resize_(size)
    torch.testing.assert_close(tuple(call()), wanted(x, y))


def test_refuses_what_does_not_fit(module):
    x = torch.randn(4, 3)
    with pytest.raises(sr.ArgumentError):
        module.bind(x, x, out=[torch.empty(4, 3)])
    with pytest.raises(sr.ArgumentError):
        module.bind(x)
    with pytest.raises(TypeError):
        module.bind(x, x)(x)


def test_weights_are_followed():
    linear = torch.nn.Linear(3, 2)
    module = sr.compile(linear)
    x = torch.randn(4, 3)
    call = module.bind(x)
    with torch.no_grad():
        linear.weight.mul_(-1)
        torch.testing.assert_close(call(), linear(x))
    module.update({name: torch.ones_like(value) for name, value in linear.state_dict().items()})
    torch.testing.assert_close(call(), x.sum(1, keepdim=True).expand(4, 2) + 1)


def test_outlives_its_module_and_is_freed():
    x = torch.randn(4, 3)
    module = sr.compile(torch.nn.ReLU())
    call = module.bind(x)
    del module
    gc.collect()
    torch.testing.assert_close(call(), x.relu())
    held = weakref.ref(x)
    del x, call
    gc.collect()
    assert held() is None


def test_threads_have_calls_of_their_own(module):
    wrong = []

    def work(n):
        x, y = torch.randn(n, 3), torch.randn(3)
        call = module.bind(x, y)
        for _ in range(100):
            x.add_(1)
            total, _ = call()
            if not torch.equal(total, (x + y) * 2):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 2, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('total', torch.zeros(3))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 1


def test_a_session_is_bound():
    module = sr.compile(torch.jit.script(Sum().eval()))
    session, other = module.session(), module.session()
    x, out = torch.ones(3), torch.empty(3)
    call = session.bind(x, out=out)
    assert session.state()['total'].tolist() == [0, 0, 0]
    for step in range(1, 5):
        assert call() is out
        assert out.tolist() == [step] * 3
    assert session.state()['total'].tolist() == [4, 4, 4]
    assert other.state()['total'].tolist() == [0, 0, 0]
    assert module(x).tolist() == [1, 1, 1]


class Functional(torch.nn.Module):
    def forward(self, x, h):
        return x + h, h * 2


def test_a_session_that_carries_arguments_is_not_bound():
    module = sr.compile(torch.jit.script(Functional()))
    session = module.session(state={'h': 1})
    with pytest.raises(sr.ArgumentError, match='cannot be bound'):
        session.bind(torch.ones(3))

