"""What counts as a difference, and what does not."""

import pytest
import torch

from compare import Rules, difference
from layouts import LAYOUTS, copied, relaid
from outcome import Outcome, outcome_difference, run

NAN = float('nan')
CLOSE = Rules(close=True)


@pytest.mark.parametrize('expected, actual, said', [
    (torch.tensor([1., 2.]), torch.tensor([1., 3.]), r'1 of 2 values .* the first at \[1\]: expected 2.0, got 3.0'),
    (torch.tensor([1., 2.]), torch.tensor([1., 2.]).double(), 'dtype: expected float32'),
    (torch.ones(2, 1), torch.ones(2), r'shape: expected float32\[2, 1\]'),
    (torch.ones(2, 3), torch.ones(3, 2).t(), 'strides'),
    (torch.tensor([NAN]), torch.tensor([1.]), 'expected nan'),
    (torch.tensor([1j]).conj(), torch.tensor([-1j]), 'conjugate'),
    ([torch.ones(1)], (torch.ones(1),), 'expected a list, got a tuple'),
    ((torch.ones(1), torch.ones(1)), (torch.ones(1),), 'expected 2 elements, got 1'),
    ([torch.ones(1), torch.ones(1)], [torch.ones(1), torch.zeros(1)], r'result\.1'),
    ({'a': 1}, {'b': 1}, 'keys'),
    ({'a': torch.ones(1)}, {'a': torch.zeros(1)}, r'result\.a'),
    (1, True, 'expected 1, got True'),
    (1.0, 2.0, 'expected 1.0, got 2.0'),
    (torch.ones(1), None, 'got None'),
])
def test_a_difference_is_told(expected, actual, said: str):
    with pytest.raises(AssertionError, match=said):
        assert not (found := difference(expected, actual)), found


@pytest.mark.parametrize('expected, actual', [
    (torch.tensor([NAN, 1.]), torch.tensor([NAN, 1.])),
    (torch.tensor([complex(NAN, 1)]), torch.tensor([complex(NAN, 1)])),
    (torch.ones(1, 3), torch.ones(3, 1).t()),
    (torch.ones(0, 3), torch.ones(3, 0).t()),
    (torch.ones(2, 2).to_sparse(), torch.ones(2, 2).to_sparse()),
    (NAN, NAN), (complex(NAN, 1), complex(NAN, 1)), ('a', 'a'), (None, None),
    ((1, [torch.ones(2)]), (1, [torch.ones(2)])),
])
def test_equals_are_equal(expected, actual):
    assert difference(expected, actual) == ''


@pytest.mark.parametrize('dtype, within, beyond', [
    (torch.float32, 1e-6, 1e-4), (torch.float64, 1e-8, 1e-6), (torch.bfloat16, 1e-2, 1e-1), (torch.float16, 9e-4, 1e-2),
    (torch.complex64, 1e-6, 1e-4), (torch.complex128, 1e-8, 1e-6),
])
def test_tolerances_are_those_of_the_dtype(dtype: torch.dtype, within: float, beyond: float):
    one = torch.ones(3, dtype=dtype)
    assert difference(one, one * (1 + within), CLOSE) == ''
    assert difference(one, one * (1 + beyond), CLOSE)
    assert difference(one, one * (1 + beyond), CLOSE.but(values=False)) == ''


def test_the_largest_value_counts_in_a_tolerance_and_infinity_does_not():
    expected, actual = torch.tensor([300., 1.]), torch.tensor([300., 1. + 1e-4])
    assert difference(expected, actual, CLOSE) == ''
    assert difference(torch.tensor([1., 1.]), torch.tensor([1., 1. + 1e-4]), CLOSE)
    assert difference(torch.tensor([float('inf'), 1., NAN]), torch.tensor([float('inf'), 2., NAN]), CLOSE)


def test_strides_can_be_left_out():
    assert difference(torch.ones(2, 3), torch.ones(3, 2).t(), Rules(strides=False)) == ''


def test_integers_have_no_tolerance():
    assert difference(torch.tensor([10**9]), torch.tensor([10**9 + 1]), CLOSE)


# --- outcomes -------------------------------------------------------------------------------------------------------

def outcomes(expected, actual, *tensors: torch.Tensor) -> str:
    return outcome_difference(run(expected, tensors), run(actual, tensors))


def test_changes_of_inputs_and_aliases_are_seen():
    x = torch.ones(4)
    assert 'inputs.0: 4 of 4 values' in outcomes(lambda x: x + 1, lambda x: x.add_(1).clone(), x)
    assert 'aliasing' in outcomes(lambda x: x.view(2, 2), lambda x: x.view(2, 2).clone(), x)
    assert 'aliasing' in outcomes(lambda x: x[1:], lambda x: x[:3], x)
    assert outcomes(lambda x: x.add_(1), lambda x: x.add_(1), x) == ''
    assert x.tolist() == [1] * 4


def test_exceptions_are_compared():
    def fails(text: str):
        def call(x: torch.Tensor):
            raise RuntimeError(text)
        return call
    x = torch.ones(1)
    assert 'throws: no' in outcomes(lambda x: x, fails('no'), x)
    assert 'does not throw: no' in outcomes(fails('no'), lambda x: x, x)
    assert outcomes(fails('in the interpreter:\nno'), fails('no\nat a node'), x) == ''
    assert 'throws: other' in outcomes(fails('no'), fails('other'), x)


def test_random_numbers_are_the_same_every_time():
    assert outcomes(torch.rand_like, lambda x: torch.rand(x.shape), torch.ones(5)) == ''


# --- layouts --------------------------------------------------------------------------------------------------------

def test_copies_have_the_layout_and_share_nothing():
    for tensor in (torch.arange(12.).view(3, 4).t()[1:], torch.ones(1).expand(3), torch.tensor([1j]).conj(),
                   torch.tensor([1 + 2j]).conj().imag, torch.ones(2, 2).to_sparse(), torch.tensor(1)):
        copy = copied(tensor)
        assert difference(tensor, copy) == ''
        if tensor.layout == torch.strided:
            assert (copy.stride(), copy.storage_offset()) == (tensor.stride(), tensor.storage_offset())
            assert copy.data_ptr() != tensor.data_ptr()


@pytest.mark.parametrize('name', LAYOUTS)
def test_layouts_are_what_they_are_called(name: str):
    tensor = torch.arange(120.).view(2, 3, 4, 5)
    changed, = relaid((tensor,), name)
    keeps_values = ('transposed', 'stepped', 'channels last')
    assert torch.equal(changed, tensor) == (name in keeps_values)
    assert changed.is_contiguous() == (name in ('empty first', 'empty last', 'without dims', 'longer'))
    assert changed.numel() == {'empty first': 0, 'empty last': 0, 'without dims': 1, 'longer': 1320}.get(name, 120)
    assert (0 in changed.stride()) == name.startswith('expanded')


def test_layouts_that_change_nothing_are_left_out():
    scalar = torch.tensor(1.)
    assert [name for name in LAYOUTS if relaid((scalar,), name)] == ['stepped']
    assert relaid((torch.ones(2, 2).to_sparse(),), 'transposed') is None
