"""Writes into the caller's buffers count as writes: autograd notices that a tensor which it saved has changed."""

import pytest
import sr
import torch


def calls(module, x, out):
    """The ways to write into a buffer; each is called several times, so that general path, replays and bound calls do."""
    bound = module.bind(x, out=out)
    return {'out': lambda: module(x, out=out), 'run_into': lambda: module.run_into(out, x), 'bound': lambda: bound()}


@pytest.mark.parametrize('way', ['out', 'run_into', 'bound'])
@pytest.mark.parametrize('replays', [False, True])
def test_each_call_counts(way, replays):
    linear = torch.nn.Linear(24, 5).requires_grad_(False).eval()
    module = sr.StaticModule(torch.jit.script(linear), enable_replay=replays)
    x, out = torch.randn(3, 24), torch.empty(3, 5)
    call = calls(module, x, out)[way]
    for _ in range(8):
        before = out._version
        call()
        assert out._version == before + 1
        w = torch.randn(3, 5, requires_grad=True)
        loss = (w * out).sum()
        call()
        with pytest.raises(RuntimeError, match='modified by an inplace'):
            loss.backward()


def test_buffers_of_inference_mode_have_no_version():
    linear = torch.nn.Linear(24, 5).requires_grad_(False).eval()
    module = sr.StaticModule(torch.jit.script(linear))
    with torch.inference_mode():
        x, out = torch.randn(3, 24), torch.empty(3, 5)
        for _ in range(6):
            torch.testing.assert_close(module(x, out=out), linear(x))
