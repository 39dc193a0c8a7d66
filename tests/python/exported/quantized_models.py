"""Models that torchao and PT2E have quantized, as users export them."""

import warnings
from typing import NamedTuple

import torch
from torch import nn
from torch.export import Dim

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    import torchao.quantization as ao
    from torchao.quantization import granularity
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86


def layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64, bias=False), nn.GELU(), nn.Linear(64, 32)).eval()


class Quantized(NamedTuple):
    program: torch.export.ExportedProgram
    sizes: tuple[int, ...]  # of the argument behind its first dimension, which varies
    dtype: torch.dtype = torch.float32


def export(model, *sizes, dtype=torch.float32, least=2):
    """With a batch that varies, from `least` on."""
    batch = {0: Dim('batch', min=least, max=512)}
    with torch.no_grad():
        return torch.export.export(model, (torch.randn(5, *sizes).to(dtype),), dynamic_shapes=(batch,))


def by_torchao(config, dtype=torch.float32):
    model = layers().to(dtype)
    ao.quantize_(model, config)
    return Quantized(export(model, 64, dtype=dtype), (64,), dtype)


def in_16_bits(dtype):
    return Quantized(export(layers().to(dtype), 64, dtype=dtype), (64,), dtype)


def converted_by_pt2e(model, *sizes, least=2, **options):
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config(**options))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        prepared = quantize_pt2e.prepare_pt2e(export(model, *sizes, least=least).module(), quantizer)
        for _ in range(4):
            prepared(torch.randn(5, *sizes))
        return quantize_pt2e.convert_pt2e(prepared)


def by_pt2e(model, *sizes, **options):
    return Quantized(export(converted_by_pt2e(model, *sizes, **options), *sizes), sizes)


class Tokens(nn.Module):
    """Activations of three dimensions, and a layer that is read twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 32)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)) + self.first(torch.relu(x)))


def tokens(config):
    torch.manual_seed(0)
    model = Tokens().eval()
    ao.quantize_(model, config)
    return Quantized(export(model, 7, 64), (7, 64))


def image():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.Flatten(), nn.Linear(4 * 36, 5)).eval()


def grouped_image():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(4, 8, 3, groups=2), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=4)).eval()


def wide_image():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(128, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 384, 3, stride=2)).eval()


CONFIGURATIONS = {  # of torchao
    'dynamic int8': ao.Int8DynamicActivationInt8WeightConfig,
    'weights int8': ao.Int8WeightOnlyConfig,
    'weights int4 in groups': lambda: ao.IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=granularity.PerGroup(32)),
    'dynamic int8, weights int4': lambda: ao.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=granularity.PerGroup(32)),
}
MODELS = {
    'dynamic int8': lambda: by_torchao(CONFIGURATIONS['dynamic int8']()),
    'dynamic int8, three dimensions': lambda: tokens(CONFIGURATIONS['dynamic int8']()),
    'dynamic int8 of bfloat16': lambda: by_torchao(CONFIGURATIONS['dynamic int8'](), torch.bfloat16),
    'weights int8': lambda: by_torchao(CONFIGURATIONS['weights int8']()),
    'weights int4 in groups': lambda: by_torchao(CONFIGURATIONS['weights int4 in groups']()),
    'dynamic int8, weights int4': lambda: by_torchao(CONFIGURATIONS['dynamic int8, weights int4']()),
    'bfloat16': lambda: in_16_bits(torch.bfloat16),
    'float16': lambda: in_16_bits(torch.float16),
    'PT2E static': lambda: by_pt2e(layers(), 64),
    'PT2E dynamic': lambda: by_pt2e(layers(), 64, is_dynamic=True),
    'PT2E static convolutions': lambda: by_pt2e(image(), 3, 8, 8),
}
