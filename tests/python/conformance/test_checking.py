"""Whole entries, with the interpreter in place of sr, or something that is wrong in one way."""

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import baseline
import summary
from check import CONFIGURATIONS, Findings, Truth
from compare import Rules
from entries import database, dtypes_of
from entry_check import check_entry
from groups import export_entry
from outcome import Outcome
from schedule import Inputs
from worker import unoptimised

unoptimised()


def bridge_that(change: Callable[[Any, int], Any] = lambda result, call: result) -> types.SimpleNamespace:
    """A bridge whose runtimes interpret and then change the result of each call."""
    class Module:
        def __init__(self, graph: torch._C.Graph, **options: Any):
            self.function = torch._C._create_function_from_graph('entry', graph)

    class Runtime:
        def __init__(self, module: Module, planner: str):
            self.function, self.calls = module.function, 0

        def __call__(self, *args: Any) -> Any:
            self.calls += 1
            return change(self.function(*args), self.calls)

        def describe(self) -> dict[str, Any]:
            return {'paths': {('aten::x', 'out', 'X')}}

    return types.SimpleNamespace(Module=Module, Runtime=Runtime)


def wrong(record: dict[str, Any]) -> list[str]:
    return [one['what'] for one in record['wrong']]


@pytest.mark.parametrize('entry', ['nn.functional.relu', 'cat', 'sort', 'nn.functional.dropout', 'empty_like',
                                   'unsqueeze', 'add'])
def test_the_interpreter_agrees_with_itself(entry: str):
    record = check_entry(bridge_that(), entry)
    assert wrong(record) == [] and record['runs'] > 0
    assert record['forms']['traced']['exported'] > 0
    assert summary.state_of(record) == 'agrees' and summary.failures(record) == []
    assert record['uninitialised'] == (entry == 'empty_like')
    assert record['random'] == (entry == 'nn.functional.dropout')


@pytest.mark.parametrize('change, said', [
    (lambda result, call: result + 1, 'values of'),
    (lambda result, call: result.double(), 'dtype: expected'),
    (lambda result, call: result[None], 'shape: expected'),
    (lambda result, call: result if call != 7 else result * 2 + 1, 'values of'),
    (lambda result, call: result.zero_() if call > 40 else result, 'values of'),
    (lambda result, call: (result, result), 'got'),
])
def test_one_wrong_thing_is_found_in_every_configuration(change: Callable, said: str):
    record = check_entry(bridge_that(change), 'nn.functional.relu')
    assert {one['configuration'] for one in record['wrong']} == {one.name() for one in CONFIGURATIONS}
    assert all(said in what for what in wrong(record))
    assert summary.state_of(record) == 'wrong' and summary.failures(record)


def test_an_exception_that_the_interpreter_does_not_throw_is_found():
    def fails(result: Any, call: int):
        raise RuntimeError('broken')
    assert set(wrong(check_entry(bridge_that(fails), 'nn.functional.relu'))) == {'throws: broken'}


def test_a_result_that_changes_later_is_found():
    kept = []

    def zeroes_the_first(result: torch.Tensor, call: int) -> torch.Tensor:
        if call == 1:
            kept[:] = [result]
        elif call == 40:
            kept[0].fill_(7)
        return result
    record = check_entry(bridge_that(zeroes_the_first), 'nn.functional.relu')
    assert any('changed in later runs' in what for what in wrong(record))


def test_other_strides_are_told_apart_from_wrong_results():
    def other_strides(result: torch.Tensor, call: int) -> torch.Tensor:
        return result.transpose(0, -1).contiguous().transpose(0, -1) if result.dim() > 1 else result
    record = check_entry(bridge_that(other_strides), 'nn.functional.relu')
    assert record['wrong'] == [] and {one['configuration'] for one in record['strides']} == {
        one.name() for one in CONFIGURATIONS}


def test_what_the_interpreter_does_not_repeat_is_no_finding():
    seen = []

    def changing(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x + len(seen)
    truth = Truth(changing, Rules(), Findings())
    inputs = Inputs('x', (torch.ones(2),))
    assert not truth.repeats(inputs)
    assert Truth(torch.neg, Rules(), Findings()).repeats(inputs)


def test_what_a_rounding_of_the_arguments_decides_is_told_apart():
    inputs = Inputs('x', (torch.tensor([1.0, 1.0, 3.0]),))
    assert Truth(lambda x: (x[0] - x[1]).sign(), Rules(), Findings()).amplifies(inputs)
    assert not Truth(torch.exp, Rules(), Findings()).amplifies(inputs)
    assert not Truth(lambda x: x, Rules(), Findings()).amplifies(Inputs('i', (torch.tensor([1, 2]),)))


def test_a_result_that_is_near_to_the_one_in_double_is_told_apart():
    def off_in_single(x: torch.Tensor) -> torch.Tensor:
        return x + 1e-3 if x.dtype == torch.float32 else x
    inputs = Inputs('x', (torch.ones(2),))
    truth = Truth(off_in_single, Rules(), Findings())
    assert truth.agrees_in_double(inputs, Outcome(inputs.tensors, torch.ones(2)))
    assert not truth.agrees_in_double(inputs, Outcome(inputs.tensors, torch.ones(2) + 1e-3))
    assert not truth.agrees_in_double(inputs, Outcome(inputs.tensors, thrown='no'))


def test_a_graph_that_is_refused_is_wrong():
    def refuse(graph: torch._C.Graph, **options: Any):
        raise RuntimeError('no')
    bridge = types.SimpleNamespace(Module=refuse, Runtime=None)
    assert set(wrong(check_entry(bridge, 'nn.functional.relu'))) == {'is not prepared: no'}


def test_every_dtype_and_sample_is_exported_or_counted():
    op = database()['nn.functional.relu']
    exports = export_entry(op)
    members = sum(len(group.members) for group in exports.groups.values())
    assert members == sum(count.exported for count in exports.counts.values())
    met = {member.sample.tensors[0].dtype for group in exports.groups.values() for member in group.members}
    assert met == set(dtypes_of(op))
    for count in exports.counts.values():
        assert count.samples == count.exported + count.reasons.total()


def test_what_does_not_export_is_listed():
    record = check_entry(bridge_that(), 'allclose')
    assert record['forms']['traced']['exported'] == 0
    assert any(line.startswith('allclose: traced: ') for line in summary.listed([record]))


# --- baseline -------------------------------------------------------------------------------------------------------

def record_of(exported: int, not_eager: int = 0) -> dict[str, Any]:
    return {'entry': 'x', 'forms': {'traced': {'exported': exported, 'samples': 9, 'reasons': {}}}, 'wrong': [],
            'strides': [], 'rounding': [], 'ill_conditioned': [], 'not_eager': [{'what': 'values'}] * not_eager}


def test_an_entry_may_not_fall_behind_the_baseline(tmp_path):
    baseline.write([record_of(5, 1)], tmp_path / 'baseline.json')
    expected = baseline.read(tmp_path / 'baseline.json')
    assert baseline.deviations(record_of(5, 1), expected) == []
    assert baseline.deviations(record_of(6), expected) == []
    assert 'traced: 4 of 9 samples export; expected 5 of 9' in baseline.deviations(record_of(4, 1), expected)
    assert 'differs from eager 2 times; expected 1' in baseline.deviations(record_of(5, 2), expected)[0]
    assert 'not in the baseline' in baseline.deviations(record_of(5) | {'entry': 'y'}, expected)[0]
    assert baseline.deviations(record_of(0), expected | {'torch': '1.0'}) == []
