"""Weights that change after a module was made: every call returns what the model itself returns at that time."""

import copy
import os
import threading

import pytest
import sr
import torch
from torch import nn
from weight_changes import CHANGES, FRONT_ENDS, Plain, check, in_place, optimizer_step, scripted


@pytest.mark.parametrize('change', CHANGES)
def test_the_next_call_uses_changed_weights(made, change):
    net, modules = made
    for _ in range(2):
        CHANGES[change](net)
        for module in modules:
            check(module, net)


@pytest.mark.parametrize('front_end', FRONT_ENDS)
@pytest.mark.parametrize('trains', [False, True])
def test_a_longer_table_is_read_in_full(front_end, trains):
    net = nn.Embedding(10, 16).eval().requires_grad_(trains)
    module = FRONT_ENDS[front_end](net)
    check(module, net)
    net.weight.data = torch.rand(1 << 20, 16)
    check(module, net)
    last = torch.tensor([(1 << 20) - 1, 4, 77])
    assert torch.equal(module(last), net.weight.detach()[last])


@pytest.mark.parametrize('trains', [False, True])
def test_weights_in_another_dtype_give_results_in_it(trains):
    net = nn.Linear(8, 4).eval().requires_grad_(trains)
    script = torch.jit.script(net)
    module, general = sr.StaticModule(script), sr.StaticModule(script, enable_replay=False)
    x = torch.rand(3, 8)
    for _ in range(3):
        module(x), general(x)
    net.double()
    for _ in range(3):
        for each in (module, general):
            torch.testing.assert_close(each(x.double()), script(x.double()).detach())
            with pytest.raises(RuntimeError):
                each(x)
    net.float()
    for each in (module, general):
        torch.testing.assert_close(each(x), script(x).detach())


def test_replaced_parameters_of_a_scripted_module_are_followed():
    net = Plain().eval()
    script = torch.jit.script(net)
    module = sr.StaticModule(script)
    check(module, script)
    other = Plain().eval()
    script.load_state_dict(other.state_dict(), assign=True)
    check(module, other)
    script.linear.weight = nn.Parameter(torch.rand(8, 8))
    check(module, script)


def test_tied_weights_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    net, x = Tied().eval(), torch.rand(3, 8)
    for module in (sr.StaticModule(torch.jit.script(net)), sr.from_exported(torch.export.export(net, (x,)))):
        for _ in range(3):
            for _ in range(3):
                torch.testing.assert_close(module(x), net(x).detach())
            with torch.no_grad():
                net.a.weight.mul_(1.5)


def test_a_weight_norm_and_a_spectral_norm_are_computed_from_the_weights_there_are():
    for parametrization in (torch.nn.utils.parametrizations.weight_norm, torch.nn.utils.parametrizations.spectral_norm):
        net, x = parametrization(nn.Linear(8, 4)).eval(), torch.rand(3, 8)
        module = sr.from_exported(torch.export.export(net, (x,)))
        for _ in range(3):
            for _ in range(3):
                torch.testing.assert_close(module(x), net(x).detach())
            in_place(net)


def test_models_made_in_inference_mode_follow_new_weights():
    with torch.inference_mode():
        net = Plain().eval()
    module = scripted(net)
    with torch.inference_mode():
        check(module, net)
        net.load_state_dict({name: value * 2 for name, value in net.state_dict().items()})
        check(module, net)


def test_refresh_weights_makes_any_write_seen():
    net = Plain().eval()
    module = scripted(net)
    clone = module.clone()
    check(module, net), check(clone, net)
    net.linear.weight.numpy(force=True)[2, 1] += 9
    module.refresh_weights()
    check(module, net), check(clone, net)


def test_a_forked_child_follows_its_own_weights():
    net = Plain().eval()
    module = scripted(net)
    check(module, net)
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)  # OpenMP's other threads are in the parent
            in_place(net)
            check(module, net)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check(module, net)


def test_frozen_weights_and_files_have_weights_of_their_own(tmp_path):
    net = Plain().eval()
    before = copy.deepcopy(net)
    script = torch.jit.script(net)
    script.save(tmp_path / 'model.pt')
    loaded = sr.load(tmp_path / 'model.pt')
    check(loaded, before)
    in_place(net)
    check(loaded, before)
    graph = loaded.graph
    for node in graph.findAllNodes('prim::Constant'):
        if node.hasAttribute('value') and node.kindOf('value') == 't':
            node.t('value').zero_()
    check(loaded, before)
    frozen = scripted(before, freeze_weights=True)
    check(frozen, before)


def test_training_and_evaluating_in_turn():
    net = Plain().eval()
    module = scripted(net)
    for _ in range(20):
        optimizer_step(net, foreach=True)
        check(module, net, calls=1)


def test_threads_that_call_while_weights_change_see_old_or_new_ones():
    net = nn.Linear(64, 64, bias=False).eval().requires_grad_(False)
    net.weight.fill_(1)
    module = scripted(net)
    x = torch.ones(4, 64)
    wrong, stop = [], threading.Event()

    def call():
        while not stop.is_set():
            value = module(x)[0, 0].item() / 64
            if not 1 <= value <= 50:
                wrong.append(value)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for value in range(1, 51):
        net.weight.fill_(value)
    stop.set()
    for caller in callers:
        caller.join()
    assert not wrong
    assert torch.equal(module(x), torch.full((4, 64), 50. * 64))
