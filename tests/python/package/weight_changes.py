"""Modules with weights in every form that a replay keeps, and the changes that programs make to weights."""

import threading

import sr
import torch
from torch import nn


class Tabular(nn.Module):
    """Has all that replays derive from weights: a table, packed products, folded and expanded vectors, equal norms."""

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
