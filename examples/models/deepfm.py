"""DeepFM of deepctr-torch on rows as of the Criteo data: 26 ids of very different vocabularies, 13 numbers."""

import sys

import numpy

import recommenders  # before deepctr_torch
from deepctr_torch.inputs import DenseFeat, SparseFeat
from deepctr_torch.models import DeepFM

from published import Published, main

VOCABULARIES = [4, 10, 18, 30, 100, 300, 600, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000] * 2
NUMBERS = 13


def model() -> DeepFM:
    columns = [SparseFeat(f'id_{i}', size, embedding_dim=16) for i, size in enumerate(VOCABULARIES)]
    columns += [DenseFeat(f'number_{i}') for i in range(NUMBERS)]
    return DeepFM(columns, columns, dnn_hidden_units=(400, 400, 400), dnn_dropout=0.1, dnn_use_bn=True)


def examples(rng: numpy.random.Generator, count: int) -> tuple[dict[str, numpy.ndarray], numpy.ndarray]:
    """Every id and number has a weight in what is clicked; those of ids follow from the id alone."""
    ids = {f'id_{i}': recommenders.zipf(rng, size, count) for i, size in enumerate(VOCABULARIES)}
    numbers = {f'number_{i}': numpy.log1p(rng.exponential(3, count)) for i in range(NUMBERS)}
    logits = sum(numpy.sin(column * 12.9898 + i) for i, column in enumerate(ids.values())) / 3
    logits += sum(column * (-1) ** i for i, column in enumerate(numbers.values())) / 3
    return ids | numbers, recommenders.clicks(rng, logits)


def make() -> Published:
    """DeepFM in sr, compared with eager and timed against its rivals."""
    return recommenders.published('DeepFM', model, examples)


if __name__ == '__main__':
    sys.exit(main(make))
