"""A module of every class of torch.nn that has parameters or buffers, with arguments for a call."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Entry = tuple[Callable[[], nn.Module], tuple[Any, ...], dict[str, str]]
Made = tuple[nn.Module, tuple[Any, ...], dict[str, str]]


def _floats(*sizes: int) -> torch.Tensor:
    return torch.rand(sizes) + 0.1


def _rows() -> torch.Tensor:
    return _floats(3, 5)


def _weight() -> torch.Tensor:
    return _floats(5)


def _classes() -> torch.Tensor:
    return torch.tensor([0, 4, 2])


def _trains_now(module: nn.Module) -> nn.Module:
    """With running statistics that are no longer their first values."""
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if buffer.is_floating_point():
                buffer.copy_(torch.rand_like(buffer) + 0.5)
    return module


class _Recurrent(nn.Module):
    """torch.jit.script gives a recurrent network one method for each form of its input, and no forward."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor):
        return self.network(x)


NO_NESTED = {'script': 'TransformerEncoder warns in a way that TorchScript does not take'}
# A name is that of the class, and a variant.
MODULES: dict[str, Callable[[], Entry]] = {
    'AdaptiveLogSoftmaxWithLoss': lambda: (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4]),
                                           (_floats(3, 8), torch.tensor([0, 3, 5])),
                                           {'export': 'its branches depend on data', 'trace': 'its branches depend on data',
                                            'script': 'its annotations are not TorchScript'}),
    'BCELoss': lambda: (lambda: nn.BCELoss(_weight()), (torch.sigmoid(_rows()), torch.sigmoid(_rows())), {}),
    'BCEWithLogitsLoss': lambda: (lambda: nn.BCEWithLogitsLoss(_weight(), pos_weight=_weight()),
                                  (_rows(), torch.sigmoid(_rows())), {}),
    'BatchNorm1d': lambda: (lambda: _trains_now(nn.BatchNorm1d(4)), (_floats(2, 4, 8),), {}),
    'BatchNorm1d without statistics': lambda: (lambda: nn.BatchNorm1d(4, track_running_stats=False), (_floats(2, 4, 8),), {}),
    'BatchNorm2d': lambda: (lambda: _trains_now(nn.BatchNorm2d(4)), (_floats(2, 4, 6, 6),), {}),
    'BatchNorm2d of a cumulative average': lambda: (lambda: _trains_now(nn.BatchNorm2d(4, momentum=None)), (_floats(2, 4, 6, 6),), {}),
    'BatchNorm3d': lambda: (lambda: _trains_now(nn.BatchNorm3d(4)), (_floats(2, 4, 3, 4, 4),), {}),
    'Bilinear': lambda: (lambda: nn.Bilinear(5, 4, 3), (_rows(), _floats(3, 4)), {}),
    'Conv1d': lambda: (lambda: nn.Conv1d(4, 6, 3, padding_mode='circular', padding=1), (_floats(2, 4, 8),), {}),
    'Conv2d': lambda: (lambda: nn.Conv2d(4, 6, 3), (_floats(2, 4, 6, 6),), {}),
    'Conv3d': lambda: (lambda: nn.Conv3d(2, 3, 2), (_floats(1, 2, 4, 4, 4),), {}),
    'ConvTranspose1d': lambda: (lambda: nn.ConvTranspose1d(4, 6, 3), (_floats(2, 4, 8),), {}),
    'ConvTranspose2d': lambda: (lambda: nn.ConvTranspose2d(4, 6, 3), (_floats(2, 4, 6, 6),), {}),
    'ConvTranspose3d': lambda: (lambda: nn.ConvTranspose3d(2, 3, 2), (_floats(1, 2, 4, 4, 4),), {}),
    'CrossEntropyLoss': lambda: (lambda: nn.CrossEntropyLoss(_weight()), (_rows(), _classes()), {}),
    'Embedding': lambda: (lambda: nn.Embedding(10, 8, max_norm=None), (torch.tensor([1, 9, 0]),), {}),
    'EmbeddingBag': lambda: (lambda: nn.EmbeddingBag(10, 8), (torch.tensor([1, 9, 0]), torch.tensor([0, 2])), {}),
    'GRU': lambda: (lambda: _Recurrent(nn.GRU(5, 6, bidirectional=True)), (_floats(4, 3, 5),), {}),
    'GRUCell': lambda: (lambda: nn.GRUCell(5, 6), (_rows(),), {}),
    'GroupNorm': lambda: (lambda: nn.GroupNorm(2, 4), (_floats(2, 4, 8),), {}),
    'InstanceNorm1d': lambda: (lambda: _trains_now(nn.InstanceNorm1d(4, affine=True, track_running_stats=True)),
                               (_floats(2, 4, 8),), {}),
    'InstanceNorm2d': lambda: (lambda: nn.InstanceNorm2d(4, affine=True), (_floats(2, 4, 6, 6),), {}),
    'InstanceNorm2d with statistics': lambda: (lambda: _trains_now(nn.InstanceNorm2d(4, track_running_stats=True)),
                                               (_floats(2, 4, 6, 6),), {}),
    'InstanceNorm3d': lambda: (lambda: _trains_now(nn.InstanceNorm3d(4, affine=True, track_running_stats=True)),
                               (_floats(2, 4, 3, 4, 4),), {}),
    'LSTM': lambda: (lambda: _Recurrent(nn.LSTM(5, 6, num_layers=2)), (_floats(4, 3, 5),), {}),
    'LSTMCell': lambda: (lambda: nn.LSTMCell(5, 6), (_rows(),), {}),
    'LayerNorm': lambda: (lambda: nn.LayerNorm(5), (_rows(),), {}),
    'Linear': lambda: (lambda: nn.Linear(5, 4), (_rows(),), {}),
    'MultiLabelSoftMarginLoss': lambda: (lambda: nn.MultiLabelSoftMarginLoss(_weight()), (_rows(), torch.ones(3, 5)), {}),
    'MultiMarginLoss': lambda: (lambda: nn.MultiMarginLoss(weight=_weight()), (_rows(), _classes()), {}),
    'MultiheadAttention': lambda: (lambda: nn.MultiheadAttention(8, 2), tuple(_floats(4, 3, 8) for _ in range(3)), {}),
    'NLLLoss': lambda: (lambda: nn.NLLLoss(_weight()), (_rows(), _classes()), {}),
    'NLLLoss2d': lambda: (lambda: nn.NLLLoss2d(_weight()), (_floats(2, 5, 3, 3), torch.ones(2, 3, 3, dtype=torch.long)), {}),
    'PReLU': lambda: (lambda: nn.PReLU(4), (_floats(2, 4, 6) - 0.6,), {}),
    'RMSNorm': lambda: (lambda: nn.RMSNorm(5), (_rows(),), {}),
    'RNN': lambda: (lambda: _Recurrent(nn.RNN(5, 6)), (_floats(4, 3, 5),), {}),
    'RNNCell': lambda: (lambda: nn.RNNCell(5, 6), (_rows(),), {}),
    'SyncBatchNorm': lambda: (lambda: _trains_now(nn.SyncBatchNorm(4)), (_floats(2, 4, 8),),
                              {'script': 'its code for several processes is not TorchScript'}),
    'Transformer': lambda: (lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), (_floats(2, 3, 8), _floats(2, 4, 8)),
                            NO_NESTED),
    'TransformerDecoder': lambda: (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2),
                                   (_floats(3, 2, 8), _floats(4, 2, 8)), {}),
    'TransformerDecoderLayer': lambda: (lambda: nn.TransformerDecoderLayer(8, 2, 16), (_floats(3, 2, 8), _floats(4, 2, 8)), {}),
    'TransformerEncoder': lambda: (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
                                   (_floats(2, 3, 8),), NO_NESTED),
    'TransformerEncoderLayer': lambda: (lambda: nn.TransformerEncoderLayer(8, 2, 16), (_floats(3, 2, 8),), {}),
}

_POINTWISE = {'CELU', 'ELU', 'GELU', 'GLU', 'Hardshrink', 'Hardsigmoid', 'Hardswish', 'Hardtanh', 'LeakyReLU', 'LogSigmoid',
              'LogSoftmax', 'Mish', 'RReLU', 'ReLU', 'ReLU6', 'SELU', 'SiLU', 'Sigmoid', 'Softmax', 'Softmax2d', 'Softmin',
              'Softplus', 'Softshrink', 'Softsign', 'Tanh', 'Tanhshrink', 'Threshold'}
_LOSSES = {'CTCLoss', 'CosineEmbeddingLoss', 'GaussianNLLLoss', 'HingeEmbeddingLoss', 'HuberLoss', 'KLDivLoss', 'L1Loss', 'MSELoss',
           'MarginRankingLoss', 'MultiLabelMarginLoss', 'PoissonNLLLoss', 'SmoothL1Loss', 'SoftMarginLoss', 'TripletMarginLoss',
           'TripletMarginWithDistanceLoss'}
_POOLS = {f'{kind}Pool{n}d' for kind in ('AdaptiveAvg', 'AdaptiveMax', 'Avg', 'Max', 'LP') for n in (1, 2, 3)} | {
    'FractionalMaxPool2d', 'FractionalMaxPool3d', 'MaxUnpool1d', 'MaxUnpool2d', 'MaxUnpool3d'}
_PADS = {f'{kind}Pad{n}d' for kind in ('Circular', 'Constant', 'Reflection', 'Replication', 'Zero') for n in (1, 2, 3)}
_REARRANGING = {'ChannelShuffle', 'Flatten', 'Fold', 'Identity', 'PixelShuffle', 'PixelUnshuffle', 'Unflatten', 'Unfold', 'Upsample',
                'UpsamplingBilinear2d', 'UpsamplingNearest2d', 'CosineSimilarity', 'PairwiseDistance', 'CrossMapLRN2d',
                'LocalResponseNorm'}
_DROPOUTS = {'AlphaDropout', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'FeatureAlphaDropout'}
_CONTAINERS = {'Container', 'DataParallel', 'Module', 'ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'Sequential',
               'RNNBase', 'RNNCellBase'}
# Without their first call they have no weights; with it they are of another class.
_LAZY = {f'Lazy{kind}{n}d' for kind in ('BatchNorm', 'Conv', 'ConvTranspose', 'InstanceNorm') for n in (1, 2, 3)} | {'LazyLinear'}
# Fuses the product of a last layer with the loss, for training.
_TRAINING = {'LinearCrossEntropyLoss'}
WITHOUT_WEIGHTS = (_POINTWISE | _LOSSES | _POOLS | _PADS | _REARRANGING | _DROPOUTS | _CONTAINERS | _LAZY | _TRAINING)


def make(name: str) -> Made:
    """The module, the arguments of a call, and why a front end does not take the module."""
    build, inputs, refused = MODULES[name]()
    return build(), inputs, refused
