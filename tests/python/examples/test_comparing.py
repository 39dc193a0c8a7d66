"""What the examples are compared and shown with, on a model without packages."""

import pytest
import torch

import published
import rivals


def doubled(x):
    return x * 2


def tiny(judge=lambda runner, bound: 'fine'):
    program = rivals.Program('tiny', torch.nn.Identity(), (torch.ones(2),), ('x',), ({},))
    calls = [(torch.ones(size),) for size in (1, 2, 3)]
    return published.Published(program, {'batch 1': calls[0]}, calls, 1e-5, judge)


@pytest.mark.parametrize(('wrong', 'difference'), [
    (doubled, 0.0),
    (lambda x: x * 2 + 0.5, 0.5),
    (lambda x: x * float('nan'), float('inf')),
    (lambda x: (x * 2)[None], float('inf')),
    (lambda x: (x * 2).double(), float('inf')),
])
def test_differences_are_the_largest_of_all_calls(wrong, difference):
    calls = [(torch.ones(size),) for size in (1, 2, 3)]
    assert published.largest_difference(wrong, calls, [doubled(*call) for call in calls]) == difference


def test_a_difference_of_the_last_round_is_seen():
    calls, count = [(torch.ones(1),)], iter(range(3))
    assert published.largest_difference(lambda x: x * 2 if next(count) < 2 else x, calls, [doubled(*calls[0])]) == 1


def test_only_sr_is_held_to_the_bound(capsys):
    failed = published.compare(tiny(), {'sr, traced': doubled, 'torch.jit': doubled, 'sr, exported': lambda x: x},
                               lambda x: x)
    assert len(failed) == 1 and failed[0].startswith('sr, traced differs from eager by 1.0e+00')
    assert 'torch.jit: differs' in capsys.readouterr().out


def test_layers_in_int8_have_a_bound_of_their_own(capsys):
    seen = []

    def judge(runner, bound):
        seen.append(bound)
        return 'fine'

    runners = {'sr, int8': lambda x: x + 0.05, 'sr, traced': lambda x: x + 0.05}
    failed = published.compare(tiny(judge), runners, lambda x: x)
    assert len(failed) == 1 and failed[0].startswith('sr, traced differs')
    assert seen == [1e-5, 0.2, 1e-5]


def test_what_can_not_be_made_says_why(monkeypatch):
    def refuse(program):
        raise ValueError('no such thing\nand a long trace')

    monkeypatch.setitem(rivals.RIVALS, 'upstream', refuse)
    runners, reasons = published.make_runners(tiny(), ['eager', 'upstream'])
    assert list(runners) == ['eager'] and reasons == {'upstream': 'ValueError: no such thing'}


def test_tables_have_ratios_to_the_first_of_sr():
    text = published.table(tiny(), ['eager', 'sr, traced'], {'batch 1': {'eager': 1500.0, 'sr, traced': 500.0}})
    assert text.splitlines()[2] == '| batch 1 | 1,500.0 (3.00) | 500.0 (1.00) |'
