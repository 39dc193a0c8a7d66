"""Quantized models that are drawn at random. A seed determines the model and its calls.

Run alone, it checks as many as asked for: drawn_quantized.py --count 300 [--first 0]."""

import argparse
import math
import random
import sys
import warnings

import quantized_models
import sr
import torch
from quantized_models import ao
from torch import nn

ACTIVATIONS = (nn.ReLU, nn.GELU, nn.Tanh, nn.SiLU, nn.Identity, nn.LeakyReLU)
BATCHES = (1, 2, 3, 7, 8, 16, 33)
WIDTHS = (2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 96, 130)
IN_GROUPS = (32, 64, 96, 128)  # a multiple of the group
SCHEMES = (*quantized_models.CONFIGURATIONS, 'PT2E static', 'PT2E dynamic', 'bfloat16', 'float16')


def draw_layers(draw: random.Random, widths) -> nn.Sequential:
    """Linear layers, some with extreme weights: rows of zeros, outliers, tiny and constant ones."""
    sizes = [draw.choice(widths) for _ in range(draw.randint(2, 4))]
    if draw.random() < 0.2:
        sizes[-1] = 1  # as an input, torchao refuses it
    layers = []
    for n, k in zip(sizes[1:], sizes):
        linear = nn.Linear(k, n, bias=draw.random() < 0.7)
        with torch.no_grad():
            kind = draw.choice(('plain', 'plain', 'zeros', 'outlier', 'tiny', 'constant'))
            if kind == 'zeros':
                linear.weight[draw.randrange(n)] = 0
            elif kind == 'outlier':  # all others round to 0 or 1
                linear.weight[draw.randrange(n), draw.randrange(k)] = draw.choice((-1, 1)) * 200.0
            elif kind == 'tiny':
                linear.weight.mul_(1e-20)
            elif kind == 'constant':
                linear.weight[draw.randrange(n)] = draw.choice((-1, 1)) * 0.25
        layers += [linear, draw.choice(ACTIVATIONS)()]
    return nn.Sequential(*layers).eval()


def draw_rows(draw: random.Random, batch: int, width: int, extreme: bool) -> torch.Tensor:
    x = torch.randn(batch, width) * draw.choice((1, 1, 1e-3, 30))
    if extreme:
        values = (0.0, -0.0, 1e-40, 1e30, -3e38, 127.5, math.inf, -math.inf, math.nan)
        for row in x:
            if draw.random() < 0.5:
                row[draw.randrange(width)] = draw.choice(values)
            elif draw.random() < 0.3:
                row.fill_(draw.choice(values))
    return x


def quantize(draw: random.Random, scheme: str, model: nn.Module, width: int):
    """The exported program, and the dtype of its arguments."""
    dtype = torch.float32
    if scheme.startswith('PT2E'):
        model = quantized_models.converted_by_pt2e(model, width, least=1, is_dynamic=scheme == 'PT2E dynamic')
    elif scheme in ('bfloat16', 'float16'):
        dtype = getattr(torch, scheme)
        model = model.to(dtype)
    else:
        ao.quantize_(model, quantized_models.CONFIGURATIONS[scheme]())
    program = quantized_models.export(model, width, dtype=dtype, least=1)
    return (program.run_decompositions() if draw.random() < 0.3 else program), dtype


def same_bits(found, expected):
    return torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.nan_to_num(7), expected.nan_to_num(7))


def check(seed: int) -> str:
    """Compares all calls with eager's, in both modes of numerics. Returns what was drawn; raises AssertionError."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    scheme = draw.choice(SCHEMES)
    layers = draw_layers(draw, IN_GROUPS if 'int4' in scheme else WIDTHS)
    width = layers[0].in_features
    name = f'{scheme}, ' + ' '.join(str(layer.in_features) for layer in layers[::2]) + f' {layers[-2].out_features}'
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        program, dtype = quantize(draw, scheme, layers, width)
        eager = program.module()
        exact, fast = (sr.from_exported(program, numerics=numerics) for numerics in ('exact', 'fast'))
        for _ in range(3):
            batch = draw.choice(BATCHES)
            # PT2E dynamic has one zero point for all rows, and with a NaN among them eager's is undefined.
            extreme = draw.random() < 0.4 and scheme != 'PT2E dynamic'
            for _ in range(4):  # the general path, the recording, two replays
                x = draw_rows(draw, batch, width, extreme).to(dtype)
                expected = eager(x)
                assert same_bits(exact(x), expected), f'seed {seed} ({name}): exact results differ for a batch of {batch}'
                found = fast(x)
                assert found.dtype == expected.dtype and found.shape == expected.shape, f'seed {seed} ({name}): shapes'
                if extreme:
                    continue
                scale = expected.float().abs().max().clamp(1e-6)
                error = ((found.float() - expected.float()).abs().max() / scale).item()
                assert error < 3e-2, f'seed {seed} ({name}): a batch of {batch} differs by {error:.3g} of the largest result'
    return name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--count', type=int, default=300)
    parser.add_argument('--first', type=int, default=0)
    options = parser.parse_args()
    failed = []
    for seed in range(options.first, options.first + options.count):
        try:
            print(f'{seed}: {check(seed)}', flush=True)
        except Exception as error:  # a refusal is a failure, too
            failed.append(seed)
            print(f'{seed}: {type(error).__name__}: {error}', flush=True)
    print(f'{options.count} models, {len(failed)} failed' + (f': {failed}' if failed else ''))
    return int(bool(failed))


if __name__ == '__main__':
    sys.exit(main())
