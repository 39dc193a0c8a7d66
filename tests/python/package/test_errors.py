"""Exceptions, their types, and that the module works afterwards."""

import io
import pickle
import threading
import time
import zipfile

import pytest
import torch
from torch import nn

import modules
import sr
from modules import scripted


def test_classes():
    for error in (sr.LoadError, sr.UnsupportedOpError, sr.ArgumentError, sr.BusyError, sr.CancelledError):
        assert issubclass(error, sr.Error) and issubclass(error, RuntimeError)
    assert issubclass(sr.ArgumentError, TypeError) and issubclass(sr.ArgumentError, ValueError)
    assert type(pickle.loads(pickle.dumps(sr.BusyError('text')))) is sr.BusyError


def test_what_an_exception_is_about():
    module = sr.StaticModule(scripted(modules.Defaults()))
    x = torch.ones(2, 3)
    for call, name in ((lambda: module(x, nonsense=1), 'nonsense'), (lambda: module('x'), 'x'), (lambda: module(), 'x'),
                       (lambda: module(x, 2.0, None, 1, 5), None)):
        with pytest.raises(sr.ArgumentError) as raised:
            call()
        assert raised.value.argument == name
    with pytest.raises(sr.UnsupportedOpError) as raised:
        sr.StaticModule(scripted(modules.Sparse()), strict=True)
    assert raised.value.operators == ('aten::to_sparse',)
    assert sr.LoadError('text').args == ('text',)


def test_events_are_logged(caplog):
    weight = torch.ones(3)

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('w', weight)

        def forward(self, x):
            return x * (self.w + 1)

    scale = scripted(Scale())
    with caplog.at_level('DEBUG', logger='sr'):
        module = sr.StaticModule(scale)
        for _ in range(3):
            module(torch.ones(2, 3))
        assert [record.levelname for record in caplog.records] == ['DEBUG']
        assert caplog.records[0].getMessage().startswith('A plan was recorded for Float[2, 3]')
        scale.w.add_(1)
        module(torch.ones(2, 3))
        assert caplog.records[1].levelname == 'INFO' and 'A weight has changed' in caplog.records[1].getMessage()
    caplog.clear()
    with caplog.at_level('WARNING', logger='sr'):
        scale.w.add_(1)
        for _ in range(3):
            module(torch.ones(2, 3))
        assert not caplog.records


def test_a_message_may_quote_bytes_that_are_no_utf_8():
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(nn.Linear(2, 2).eval()), file)
    damaged = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(damaged, 'w') as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'return', b'retur\xf5') if name.endswith('.py') else content)
    with pytest.raises(sr.LoadError, match=r'\\xf5'):
        sr.load(damaged.getvalue())


MANY = 200_000
DEEP_CODE = {
    'parentheses': b'(' * MANY + b'x',
    'lists': b'[' * MANY + b'x',
    'signs': b'-' * MANY + b'x',
    'words': b'not ' * MANY + b'x',
    'attributes': b'x' + b'.a' * MANY,
    'sums': b'1' + b'+1' * MANY,
    'choices': b'1' + b' if True else 1' * MANY,
    'calls': b'f(a, ' * MANY,
    'lines': b'1' + b'\\\n+1' * MANY,
    'blocks': b''.join(b'\n' + b' ' * i + b'if True:' for i in range(8, 3000)),
    'branches': b'1\n    if True:\n      x\n' + b'    elif True:\n      x\n' * MANY,
}
DEEP_PICKLES = {
    'tuples': b')' + b'\x85' * MANY,
    'lists': b']' * MANY + b'a' * (MANY - 1),
    'objects': b'cm\nC\n' * MANY + b')' + b'\x81' * MANY,
    'lists from the outside': b']q\x00' + b']q\x01h\x00h\x01a0q\x00' * MANY,
}


@pytest.mark.parametrize('record, content', [
    *(pytest.param('.py', content, id=f'code-{name}') for name, content in DEEP_CODE.items()),
    *(pytest.param('/data.pkl', content, id=f'pickle-{name}') for name, content in DEEP_PICKLES.items())])
def test_deep_files_do_not_exhaust_the_stack(record, content):
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(nn.Linear(2, 2).eval()), file)
    crafted = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(crafted, 'w', zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            was = old.read(name)
            if name.endswith(record):
                was = was.replace(b'return ', b'return ' + content) if record == '.py' else b'\x80\x02' + content + b'.'
            new.writestr(name, was)
    with pytest.raises(sr.LoadError, match='nests|changes a value|takes more values'):
        sr.load(crafted.getvalue())


@pytest.mark.parametrize('args, kwargs, message', [
    ((), {}, "no value for argument 0 \\('x'\\) of forward"),
    ((torch.ones(2), 1.0, None, 1, 1), {}, 'gives 5 positional arguments'),
    ((torch.ones(2),), {'y': 1}, "names an argument 'y'"),
    ((torch.ones(2),), {'x': torch.ones(2)}, 'twice'),
    ((torch.ones(2), 'text'), {}, "argument 1 \\('scale'\\) of forward is of Python's type str, expected float"),
    ((torch.ones(2),), {'times': 1.5}, "expected int"),
    ((torch.ones(2),), {'out': torch.ones(3)}, 'the model returns Float'),
    ((torch.ones(2),), {'out': torch.ones(2).double()}, 'the model returns Float'),
    ((torch.ones(2),), {'out': [torch.ones(2)] * 2}, 'given 2 output tensors'),
    ((torch.ones(2),), {'out': 3}, 'cannot be written into a int'),
    ((torch.ones(2, device='meta'),), {}, 'is on meta'),
])
def test_calls_that_do_not_fit(args, kwargs, message):
    ours = sr.StaticModule(scripted(modules.Defaults()))
    for _ in range(3):
        with pytest.raises(sr.ArgumentError, match=message) as raised:
            ours(*args, **kwargs)
        assert '.cpp' not in str(raised.value) and 'frame #' not in str(raised.value)
        assert torch.equal(ours(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize('given', [torch.ones(2, 2), -torch.ones(2, 3)])  # a raise of the model; an operator's
def test_errors_of_models_are_those_of_the_interpreter(given):
    script = scripted(modules.Raises())
    ours = sr.StaticModule(script)
    with pytest.raises(Exception) as theirs:
        script(given)
    for _ in range(3):
        with pytest.raises(Exception) as raised:
            ours(given)
        assert type(raised.value) is type(theirs.value)
        assert 'frame #' not in str(raised.value)
        assert torch.equal(ours(-torch.eye(2)), torch.eye(2))


def test_errors_of_operators_name_the_node_and_its_line():
    with pytest.raises(RuntimeError, match=r'while sr ran aten::mm \(.*modules\.py:\d+\)'):
        sr.StaticModule(scripted(modules.Raises()))(-torch.ones(2, 3))


def test_a_module_without_a_free_runtime_is_busy():
    ours = sr.StaticModule(scripted(modules.Slow()), max_runtimes=1, timeout=0.01)
    x = torch.randn(256, 256)
    future = None
    with pytest.raises(sr.BusyError, match='All 1 runtimes'):
        while True:
            if future is None or future.done():  # on a busy machine, the future may be the one that waits for too long
                future = ours.run_async(x, 10 ** 7)
            ours(x, 1)
    future.cancel()
    with pytest.raises(sr.CancelledError):
        future.result(timeout=60)
    assert ours(x, 1).shape == x.shape


def test_warnings_of_operators_are_pythons():
    class Resized(torch.nn.Module):
        def forward(self, x, y):
            return torch.add(x, x, out=y)

    ours = sr.StaticModule(scripted(Resized()))
    with pytest.warns(UserWarning, match='was resized'):
        ours(torch.ones(2), torch.ones(3))


def test_an_interrupt_of_conversion_is_not_swallowed():
    class Interrupts:
        def __dlpack__(self, *args, **kwargs):
            raise KeyboardInterrupt

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(KeyboardInterrupt):
        sr.StaticModule(scripted(modules.Defaults()))(Interrupts())


def test_the_gil_is_free_while_the_model_runs():
    ours = sr.StaticModule(scripted(modules.Slow()))
    x = torch.randn(128, 128)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    before = len(ticks)
    ours(x, 3000)  # far longer than a tick
    during = len(ticks) - before
    stop.set()
    ticker.join()
    assert during > 1


class Listed(torch.nn.Module):
    def forward(self, xs: list[torch.Tensor]):
        return xs[0] + xs[1]


def test_tensors_that_operators_can_not_read_are_refused():
    one, many = sr.StaticModule(scripted(modules.Defaults())), sr.StaticModule(scripted(Listed()))
    freed, x = torch.rand(3), torch.rand(3)
    freed.untyped_storage().resize_(0)
    nested = torch.nested.nested_tensor([torch.rand(2), torch.rand(3)])
    for _ in range(4):
        with pytest.raises(sr.ArgumentError, match='no memory'):
            one(freed)
        with pytest.raises(sr.ArgumentError, match='A tensor in the value given .* no memory'):
            many([x, freed])
        with pytest.raises(sr.ArgumentError, match='nested'):
            one(nested)
        with pytest.raises(sr.ArgumentError, match=r'torch\.vmap'):
            torch.vmap(lambda row: one(row))(torch.rand(4, 3))
        torch.testing.assert_close(many([x, x]), x + x)


LONG = [[0.5] * 64 for _ in range(1000)]


@pytest.mark.parametrize('call', [
    lambda module: module(LONG),
    lambda module: module(torch.ones(2), 'text' * 100_000),
    lambda module: module('\u00e9' * 1_000_000),
    lambda module: module({'a': LONG}),
    lambda module: module.bind(LONG),
    lambda module: module(torch.ones(2), out=[LONG]),
    lambda module: sr.Batcher(module)(LONG),
    lambda module: sr.compile(torch.nn.ReLU(), **{'q' * 1_000_000: 1}),
    lambda module: sr.compile(torch.nn.ReLU(), planner='q' * 1_000_000),
    lambda module: sr.load('x' * 5_000),
    lambda module: sr.load(b'x' * 1_000_000),
])
def test_messages_repeat_no_more_than_a_line_of_what_was_given(call):
    with pytest.raises(sr.Error) as caught:
        call(sr.StaticModule(scripted(modules.Defaults())))
    assert len(str(caught.value).replace('x' * 5_000, '')) < 600


def test_a_list_where_a_tensor_is_expected():
    with pytest.raises(sr.ArgumentError, match=r'type list, expected Tensor\. torch\.tensor\(\.\.\.\) makes one'):
        sr.StaticModule(scripted(modules.Defaults()))([1.0, 2.0])
