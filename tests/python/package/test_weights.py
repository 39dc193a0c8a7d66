"""Weights that change after a module was made: every call gives what the model itself gives then."""

import copy
import os
import threading

import pytest
import sr
import torch
from torch import nn


class Tabular(nn.Module):
    """Everything that replays keep of weights: a table, packed products, folded and spread vectors, equal norms."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.first = nn.Linear(8, 16)
        self.batch_norm = nn.BatchNorm1d(16)
        self.norms = nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
        self.second = torch.nn.utils.parametrizations.weight_norm(nn.Linear(16, 4))
        self.scale = nn.Parameter(torch.rand(4) + 0.5)
        self.register_buffer('bias', torch.tensor(0.25))

    def forward(self, ids):
        x = torch.relu(self.batch_norm(self.first(self.table(ids))))
        for norm in self.norms:
            x = norm(x)
        return self.second(x) * self.scale + self.bias


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.linear = nn.Linear(8, 8)
        self.norms = nn.ModuleList([nn.LayerNorm(8), nn.LayerNorm(8)])

    def forward(self, ids):
        x = self.linear(self.table(ids))
        for norm in self.norms:
            x = norm(x)
        return x


IDS = torch.tensor([1, 2, 9])
OTHERS = torch.tensor([0, 3, 3, 7, 5])


def scripted(net, **options):
    return sr.StaticModule(torch.jit.script(net), **options)


def traced(net, **options):
    return sr.StaticModule(torch.jit.trace(net, (IDS,), check_trace=False), **options)


def exported(net, **options):
    program = torch.export.export(net, (IDS,), dynamic_shapes=({0: torch.export.Dim('n', min=2, max=64)},))
    return sr.from_exported(program, **options)


FRONT_ENDS = {'script': scripted, 'trace': traced, 'export': exported}


def check(module, net, calls=3):
    for ids in (IDS, OTHERS):
        for _ in range(calls):
            with torch.no_grad():
                torch.testing.assert_close(module(ids), net(ids), rtol=1e-4, atol=1e-5)


@pytest.fixture(params=FRONT_ENDS)
def made(request):
    net = Plain().eval() if request.param == 'script' else Tabular().eval()
    make = FRONT_ENDS[request.param]
    modules = [make(net), make(net, enable_replay=False)]
    modules.append(modules[0].clone())
    for module in modules:
        check(module, net)
    return net, modules


def optimizer_step(net, foreach):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, foreach=foreach)
    net(OTHERS).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def from_another_thread(net):
    thread = threading.Thread(target=in_place, args=(net,))
    thread.start()
    thread.join()


@torch.no_grad()
def in_place(net):
    for tensor in net.state_dict().values():
        if tensor.is_floating_point():
            tensor.mul_(1.5).add_(0.1)


@torch.no_grad()
def one_element(net):
    net.table.weight[9, 3] += 5


@torch.no_grad()
def moving_average(net):
    for parameter in net.parameters():
        parameter.lerp_(torch.ones_like(parameter), 0.3)


def moving_average_of_data(net):
    for tensor in list(net.parameters()) + [buffer for buffer in net.buffers() if buffer.is_floating_point()]:
        tensor.data.mul_(0.7).add_(0.2)


def in_inference_mode(net):
    with torch.inference_mode():
        in_place(net)


def train(net):
    net.train()
    with torch.no_grad():
        for _ in range(3):
            net(OTHERS)
    net.eval()


def other_data(net):
    for parameter in net.parameters():
        parameter.data = torch.rand_like(parameter)


def to_bfloat16_and_back(net):
    net.to(torch.bfloat16).to(torch.float32)


def share_memory(net):
    net.share_memory()


def resize_storage(net):
    for parameter in net.parameters():
        parameter.untyped_storage().resize_(parameter.untyped_storage().nbytes() * 1024)


CHANGES = {
    'SGD': lambda net: optimizer_step(net, foreach=False),
    'SGD for each': lambda net: optimizer_step(net, foreach=True),
    'load_state_dict': lambda net: net.load_state_dict({name: value * 2 for name, value in net.state_dict().items()}),
    'moving average': moving_average,
    'moving average of .data': moving_average_of_data,
    'one element': one_element,
    'in inference mode': in_inference_mode,
    'from another thread': from_another_thread,
    'trained statistics': train,
    'other data': other_data,
    'to bfloat16 and back': to_bfloat16_and_back,
    'share_memory': share_memory,
    'storage resized': resize_storage,
}


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
            torch.set_num_threads(1)  # the others of OpenMP are in the parent
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
