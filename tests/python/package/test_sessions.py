"""Tests sessions, each of which holds the state of one stream of calls."""

import asyncio
import copy
import pickle
import threading

import pytest
import torch

import sr


class Memory(torch.nn.Module):
    """Writes a buffer, and assigns an attribute, a counter and a list."""

    last: torch.Tensor
    seen: list[torch.Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.GRUCell(4, 8)
        self.register_buffer('hidden', torch.zeros(1, 8))
        self.last = torch.zeros(1, 4)
        self.calls = 0
        self.seen = [torch.zeros(1, 4)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.hidden.copy_(self.cell(x + self.last, self.hidden))
        self.last = x
        self.calls += 1
        self.seen.append(x * 2)
        if len(self.seen) > 3:
            self.seen.pop(0)
        return self.hidden * self.calls + torch.cat(self.seen).sum()


@pytest.fixture(scope='module')
def scripted() -> torch.jit.ScriptModule:
    torch.manual_seed(0)
    return torch.jit.script(Memory().eval())


def inputs(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, 4, generator=generator) for _ in range(count)]


def expected(scripted: torch.jit.ScriptModule, calls: list[torch.Tensor]) -> list[torch.Tensor]:
    reference = copy.deepcopy(scripted)
    with torch.no_grad():
        return [reference(x).clone() for x in calls]


def test_sessions_are_independent(scripted):
    module = sr.StaticModule(scripted)
    a, b = module.session(), module.session()
    calls = inputs(12)
    wanted = expected(scripted, calls)
    for x, result in zip(calls, wanted, strict=True):
        torch.testing.assert_close(a(x), result)
        torch.testing.assert_close(b(x=x), result)
    assert module.metrics()['replayed'] > 12
    torch.testing.assert_close(module.session()(calls[0]), wanted[0])
    assert a.module is module


def test_state_is_read_loaded_and_reset(scripted):
    module = sr.StaticModule(scripted)
    session = module.session()
    calls = inputs(6)
    first = [session(x) for x in calls[:3]]
    saved = session.state()
    assert sorted(saved) == ['calls', 'hidden', 'last', 'seen']
    assert saved['calls'] == 3
    assert len(saved['seen']) == 3
    rest = [session(x) for x in calls[3:]]
    session.load(saved)
    assert all(torch.allclose(session(x), result, atol=1e-5) for x, result in zip(calls[3:], rest, strict=True))
    session.reset()
    assert all(torch.allclose(session(x), result, atol=1e-5) for x, result in zip(calls[:3], first, strict=True))
    saved['hidden'].fill_(3)
    assert not torch.equal(session.state()['hidden'], saved['hidden'])


def test_loading_what_does_not_fit_is_refused(scripted):
    session = sr.StaticModule(scripted).session()
    state = session.state()
    for wrong, message in (({'nothing': 1}, "no 'nothing'"), ({'calls': 'text'}, "'calls' is of type str"),
                           ({'hidden': torch.zeros(2)}, "'hidden' has other sizes"),
                           ({'seen': [1, 2]}, "'seen' is of type")):
        with pytest.raises(sr.ArgumentError, match=message):
            session.load(state | wrong)
    with pytest.raises(sr.ArgumentError, match='has no'):
        session.load({'calls': 1})
    assert session.state()['calls'] == 0
    session.load({'calls': 7}, strict=False)
    assert session.state()['calls'] == 7


@pytest.mark.parametrize('copied', [sr.Session.clone, copy.copy, copy.deepcopy,
                                    lambda session: pickle.loads(pickle.dumps(session))])
def test_a_copy_goes_on_from_the_same_state(scripted, copied):
    session = sr.StaticModule(scripted).session()
    calls = inputs(6)
    for x in calls[:3]:
        session(x)
    other = copied(session)
    for x in calls[3:]:
        torch.testing.assert_close(other(x), session(x))
    session(calls[0])
    assert other.state()['calls'] == 6
    assert session.state()['calls'] == 7


def test_a_pickled_module_goes_on_from_its_state(scripted):
    module = sr.StaticModule(scripted)
    calls = inputs(6)
    wanted = expected(scripted, calls)
    for x in calls[:3]:
        module(x)
    copies = [pickle.loads(pickle.dumps(module)), copy.copy(module)]
    for made in (module, *copies):
        torch.testing.assert_close(made.session()(calls[0]), wanted[0])
        for x, result in zip(calls[3:], wanted[3:], strict=True):
            torch.testing.assert_close(made(x), result)


def test_results_are_written_into_buffers(scripted):
    module = sr.StaticModule(scripted)
    session, buffer = module.session(), torch.empty(1, 8)
    calls = inputs(5)
    for x, result in zip(calls, expected(scripted, calls), strict=True):
        assert session(x, out=buffer) is buffer
        torch.testing.assert_close(buffer, result)


def test_a_session_answers_one_call_at_a_time(scripted):
    module = sr.StaticModule(scripted)
    calls = inputs(50)
    wanted = expected(scripted, calls)
    wrong = []

    def stream() -> None:
        session = module.session()
        for x, result in zip(calls, wanted, strict=True):
            if not torch.allclose(session(x), result, atol=1e-5):
                wrong.append(x)

    threads = [threading.Thread(target=stream) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    session = module.session()
    future = session.run_async(calls[0])
    try:  # it may have ended already
        session.run_async(calls[1]).result(10)
    except sr.BusyError as error:
        assert 'Another call with this state' in str(error)
    torch.testing.assert_close(future.result(10), wanted[0])


def test_streams_of_asyncio(scripted):
    module = sr.StaticModule(scripted)
    calls = inputs(10)
    wanted = expected(scripted, calls)

    async def stream() -> None:
        session = module.session()
        for x, result in zip(calls, wanted, strict=True):
            torch.testing.assert_close(await session.run_async(x), result)

    async def streams() -> None:
        await asyncio.gather(*(stream() for _ in range(20)))

    asyncio.run(streams())


def test_a_broken_session_says_so():
    class Large(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer('cache', torch.zeros(100_000))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.cache[:1] += x[:1]
            return x.view(3) + self.cache[0]

    session = sr.StaticModule(torch.jit.script(Large())).session()
    assert session(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match='shape'):
        session(torch.ones(4))
    with pytest.raises(sr.StateError, match='half written'):
        session(torch.ones(3))
    session.reset()
    assert session(torch.ones(3)).tolist() == [2, 2, 2]


def test_what_is_not_a_session():
    module = sr.compile(torch.nn.ReLU())
    session = module.session()
    assert session(torch.tensor([-1.0, 1.0])).tolist() == [0, 1]
    assert session.state() == {}
    with pytest.raises(TypeError, match=r'module\.session\(\)'):
        sr.Session()(torch.ones(1))
    with pytest.raises(TypeError, match='not a session'):
        module._reset()


class Rows(torch.nn.Module):
    """Computes a row of x and of the hidden state for each stream."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.GRUCell(4, 8)
        self.hidden = torch.zeros(1, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.hidden = self.cell(x, self.hidden)
        return self.hidden


def test_sessions_are_called_together():
    torch.manual_seed(0)
    scripted = torch.jit.script(Rows().eval())
    module = sr.StaticModule(scripted)
    sessions = [module.session() for _ in range(9)]
    references = [copy.deepcopy(scripted) for _ in sessions]
    for _ in range(4):
        given = [torch.randn(1, 4) for _ in sessions]
        results = module.run_sessions(sessions, given)
        with torch.no_grad():
            for reference, x, result in zip(references, given, results, strict=True):
                torch.testing.assert_close(result, reference(x))
    with pytest.raises(sr.ArgumentError, match='twice'):
        module.run_sessions([sessions[0], sessions[0]], given[:2])
    with pytest.raises(sr.ArgumentError, match="names 'no'"):
        module.run_sessions(sessions[:2], given[:2], state_dims={'hidden': 1, 'no': 0})


def test_a_batcher_joins_sessions():
    torch.manual_seed(0)
    scripted = torch.jit.script(Rows().eval())
    module = sr.StaticModule(scripted)
    batcher = sr.Batcher(module, max_rows=5, max_wait=20.0)  # until a batch is full
    sessions = [module.session() for _ in range(5)]
    references = [copy.deepcopy(scripted) for _ in sessions]

    async def step() -> None:
        given = [torch.randn(1, 4) for _ in sessions]
        results = await asyncio.gather(
            *(batcher.submit(x, session=session) for x, session in zip(given, sessions, strict=True)))
        with torch.no_grad():
            for reference, x, result in zip(references, given, results, strict=True):
                torch.testing.assert_close(result, reference(x))

    for _ in range(3):
        asyncio.run(step())
    assert batcher.report().batches == 3
    waiting = batcher.submit(torch.randn(1, 4), session=sessions[0], timeout=0.05)
    with pytest.raises(sr.BusyError):
        sessions[0](torch.randn(1, 4))
    with pytest.raises(sr.CancelledError):
        waiting.result(10)
    assert sessions[0](torch.randn(1, 4)).shape == (1, 8)
    with pytest.raises(sr.ArgumentError, match='call of a session'):
        batcher(torch.randn(1, 4))
    with pytest.raises(TypeError, match='not a session'):
        batcher(torch.randn(1, 4), session=module)


def test_a_session_carries_arguments():
    torch.manual_seed(0)
    model = torch.nn.LSTM(4, 8).eval()

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = model

        def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor],
                    calls: int = 0) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor], int]:
            y, state = self.lstm(x, state)
            return y, state, calls + 1

    first = torch.zeros(1, 1, 8), torch.zeros(1, 1, 8)
    scripted = sr.StaticModule(torch.jit.script(Step().eval())).session(state={'state': 1, 'calls': 2})
    program = torch.export.export(Step().eval(), (torch.zeros(3, 1, 4), first))
    exported = sr.from_exported(program).session(state={'state': 1})
    for session in (scripted, exported):
        with pytest.raises(sr.ArgumentError, match='has no value yet'):
            session(torch.zeros(3, 1, 4))
        session.load({'state': first}, strict=False)
    expected_state = first
    copies = []
    for i in range(6):
        x = torch.randn(3, 1, 4)
        with torch.no_grad():
            expected, expected_state = model(x, expected_state)
        torch.testing.assert_close(scripted(x), expected)
        result = exported(x)
        torch.testing.assert_close(result[0] if isinstance(result, tuple) else result, expected)
        if i == 2:
            copies = [copy.copy(scripted), pickle.loads(pickle.dumps(exported)), exported.clone()]
            kept = x, expected_state
    torch.testing.assert_close(exported.state()['state'], expected_state)
    assert scripted.state()['calls'] == 6
    for session in copies:
        torch.testing.assert_close(session.state()['state'], kept[1])
        assert session(kept[0]) is not None
    scripted.reset()
    assert 'state' not in scripted.state()
    with pytest.raises(sr.ArgumentError, match="names 'h'"):
        sr.from_exported(program).session(state={'h': 1})
    with pytest.raises(sr.ArgumentError, match='result 7'):
        sr.from_exported(program).session(state={'state': 7})
    with pytest.raises(sr.ArgumentError, match='cannot be carried'):
        sr.from_exported(program).session(state={'state': 0})
    with pytest.raises(sr.ArgumentError, match="no argument 'h'"):
        scripted.module.session(state={'h': 1})


def test_a_cache_that_grows_is_carried():
    class Cache(torch.nn.Module):
        def forward(self, x: torch.Tensor, past: list[tuple[torch.Tensor, torch.Tensor]],
                    *, scale: torch.Tensor) -> dict[str, object]:
            new = [(torch.cat([k, x]), torch.cat([v, x * scale])) for k, v in past]
            return {'sum': sum(k.sum() + v.sum() for k, v in new), 'past': new}

    past = [(torch.zeros(2, 3), torch.zeros(2, 3)), (torch.ones(2, 3), torch.ones(2, 3))]
    rows = torch.export.Dim('rows', min=0)
    program = torch.export.export(Cache(), (torch.zeros(1, 3), past), {'scale': torch.ones(())},
                                  dynamic_shapes={'x': {}, 'past': [({0: rows}, {0: rows})] * 2, 'scale': {}})
    module = sr.from_exported(program)
    session = module.session(state={'past': 'past'})
    session.load({'past': past})
    expected = past
    for i in range(8):
        x, scale = torch.randn(1, 3), torch.tensor(float(i))
        made = Cache()(x, expected, scale=scale)
        expected = made['past']
        torch.testing.assert_close(session(x, scale=scale), {'sum': made['sum']})
    torch.testing.assert_close(session.state()['past'], expected)
    assert session.state()['past'][1][0].shape == (10, 3)
    assert module.metrics()['replayed'] >= 4


def test_sessions_that_carry_arguments_are_called_together():
    class Cell(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(4, 8, batch_first=True)

        def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]) -> dict[str, object]:
            y, state = self.lstm(x, state)
            return {'y': y, 'state': state}

    rows = torch.export.Dim('rows', min=1)
    model = Cell().eval()
    first = torch.zeros(1, 2, 8), torch.zeros(1, 2, 8)
    program = torch.export.export(model, (torch.zeros(2, 1, 4), first),
                                  dynamic_shapes={'x': {0: rows}, 'state': ({1: rows}, {1: rows})})
    module = sr.from_exported(program)
    sessions = [module.session(state={'state': 'state'}) for _ in range(5)]
    expected = [(torch.full((1, 1, 8), 0.1 * i), torch.zeros(1, 1, 8)) for i in range(5)]
    for session, state in zip(sessions, expected, strict=True):
        session.load({'state': state})
    for step in range(4):
        given = [torch.randn(1, 1, 4) for _ in sessions]
        calls = module.metrics()['calls']
        results = module.run_sessions(sessions, given, state_dims={'state': 1})
        assert step == 0 or module.metrics()['calls'] == calls + 1
        with torch.no_grad():
            made = [model(x, state) for x, state in zip(given, expected, strict=True)]
        expected = [each['state'] for each in made]
        torch.testing.assert_close(results, [{'y': each['y']} for each in made])
        torch.testing.assert_close([session.state()['state'] for session in sessions], expected)
