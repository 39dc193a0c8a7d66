"""Deep Interest Network of deepctr-torch: attention of the item in question over the last 50 the user looked at."""

import sys

import numpy

import recommenders  # before deepctr_torch
from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat
from deepctr_torch.models import DIN

from published import Published, main

USERS, ITEMS, CATEGORIES, HISTORY, WIDTH = 5_000, 20_000, 100, 50, 16


def model() -> DIN:
    # 0 is no item: what stands behind the end of a history.
    items, categories = ITEMS + 1, CATEGORIES + 1
    columns = [
        SparseFeat('user', USERS, WIDTH),
        SparseFeat('item', items, WIDTH),
        SparseFeat('category', categories, WIDTH),
        DenseFeat('price'),
        VarLenSparseFeat(SparseFeat('hist_item', items, WIDTH, embedding_name='item'), HISTORY, length_name='length'),
        VarLenSparseFeat(SparseFeat('hist_category', categories, WIDTH, embedding_name='category'), HISTORY,
                         length_name='length'),
    ]
    return DIN(columns, ['item', 'category'], dnn_use_bn=True, dnn_dropout=0.1, att_weight_normalization=True)


def examples(rng: numpy.random.Generator, count: int) -> tuple[dict[str, numpy.ndarray], numpy.ndarray]:
    """Clicked is what is cheap, and what is of a category that the user looked at before."""
    item = 1 + recommenders.zipf(rng, ITEMS, count)
    length = rng.integers(1, HISTORY + 1, count)
    seen = 1 + recommenders.zipf(rng, ITEMS, (count, HISTORY))
    seen[numpy.arange(HISTORY) >= length[:, None]] = 0
    category, categories = (numpy.where(ids > 0, 1 + ids % CATEGORIES, 0) for ids in (item, seen))
    price = rng.exponential(1, count)
    logits = 4 * (categories == category[:, None]).any(axis=1) + numpy.sin(category * 12.9898) - price
    columns = {'user': recommenders.zipf(rng, USERS, count), 'item': item, 'category': category, 'price': price,
               'hist_item': seen, 'hist_category': categories, 'length': length}
    return columns, recommenders.clicks(rng, logits)


def make() -> Published:
    """DIN in sr, compared with eager and timed against its rivals."""
    return recommenders.published('DIN', model, examples)


if __name__ == '__main__':
    sys.exit(main(make))
