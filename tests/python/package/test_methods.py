"""Methods of TorchScript modules that run on the state of a module or session."""

import copy
import pickle

import pytest
import torch

import sr


class Detector(torch.nn.Module):
    """Keeps a buffer, an attribute and a counter, as detectors of speech do."""

    context: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.GRUCell(4, 8)
        self.register_buffer('hidden', torch.zeros(1, 8))
        self.context = torch.zeros(0)
        self.calls = 0
        self.gain = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.context.numel() == 0:
            self.context = torch.zeros_like(x)
        self.hidden.copy_(self.cell(x + self.context, self.hidden))
        self.context = x
        self.calls += 1
        return self.hidden.sum() * self.gain

    @torch.jit.export
    def reset_states(self) -> None:
        self.hidden.zero_()
        self.context = torch.zeros(0)
        self.calls = 0

    @torch.jit.export
    def peek(self, x: torch.Tensor, scale: float = 1.0) -> tuple[torch.Tensor, int]:
        """What the next call would return, by the weights and the state."""
        return self.cell(x + self.context, self.hidden).sum() * scale, self.calls

    @torch.jit.export
    def set_gain(self, gain: float) -> None:
        self.gain = gain

    @torch.jit.export
    def state(self) -> int:
        return self.calls


@pytest.fixture(scope='module')
def scripted():
    torch.manual_seed(0)
    return torch.jit.script(Detector().eval())


def chunks(count):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, 4, generator=generator) for _ in range(count)]


def test_methods_of_a_session(scripted):
    module = sr.StaticModule(scripted)
    assert set(module.methods) == {'reset_states', 'peek', 'set_gain', 'state'}
    session, other, reference = module.session(), module.session(), copy.deepcopy(scripted)
    with torch.no_grad():
        for step, x in enumerate(chunks(12)):
            torch.testing.assert_close(session(x), reference(x))
            torch.testing.assert_close(session.peek(x, scale=2.0), reference.peek(x, scale=2.0))
            if step % 5 == 4:
                assert session.reset_states() is None
                reference.reset_states()
            other(x)
            assert session.state()['calls'] == reference.calls
            torch.testing.assert_close(session.state()['hidden'], reference.hidden)
    assert other.state()['calls'] == 12
    assert session.method('state')() == 2
    assert session.method('peek').module.metrics()['replayed'] > 5
    assert module.method('state')() == 0


def test_the_module_of_its_own_calls_has_methods(scripted):
    module = sr.StaticModule(scripted)
    for x in chunks(3):
        module(x)
    copies = [copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    module.reset_states()
    assert module.method('state')() == 0
    assert [other.peek(x)[1] for other in copies] == [3, 3]
    with pytest.raises(sr.ArgumentError, match='cannot be pickled'):
        pickle.dumps(module.method('peek'))


def test_a_file_has_methods(scripted, tmp_path):
    scripted.save(str(tmp_path / 'detector.pt'))
    session = sr.load(tmp_path / 'detector.pt').session()
    reference = copy.deepcopy(scripted)
    with torch.no_grad():
        for x in chunks(4):
            torch.testing.assert_close(session(x), reference(x))
            torch.testing.assert_close(session.peek(x), reference.peek(x))
    session.reset_states()
    assert session.method('state')() == 0


def test_what_has_no_such_method(scripted):
    module = sr.StaticModule(scripted)
    session = module.session()
    with pytest.raises(AttributeError, match="'Session' object has no attribute 'reset_state'"):
        session.reset_state  # noqa: B018
    assert not hasattr(module, 'no_method')
    with pytest.raises(sr.ArgumentError, match="no method 'reset_state' .* 'reset_states'"):
        session.method('reset_state')
    with pytest.raises(sr.UnsupportedOpError, match="writes the attribute 'gain'"):
        session.set_gain(2.0)
    assert sr.compile(torch.nn.ReLU()).methods == []


def test_methods_see_new_weights(scripted):
    model = copy.deepcopy(scripted)
    module = sr.StaticModule(model)
    session = module.session()
    x = chunks(1)[0]
    weights = {name: value + 0.5 for name, value in model.state_dict().items() if name.startswith('cell')}
    module.update(weights, strict=False)
    model.load_state_dict(weights, strict=False)
    with torch.no_grad():
        model(x)
        session(x)
        torch.testing.assert_close(session.peek(x), model.peek(x))
