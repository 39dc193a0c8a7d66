"""What the recommenders share: deepctr-torch without its look for newer versions, ids as users have them, training."""

import contextlib
import io
import sys
import types
from collections.abc import Callable

import numpy
import torch
from sklearn.metrics import roc_auc_score

# When deepctr_torch is imported, a thread of this module of it asks the network for newer versions, with a package that
# it does not require. Nothing else is in it.
_utils = types.ModuleType('deepctr_torch.utils')
_utils.check_version = lambda version: None  # type: ignore[attr-defined]
sys.modules.setdefault('deepctr_torch.utils', _utils)

from published import Arguments, Published  # noqa: E402
from rivals import Program, Runner  # noqa: E402

BOUND = 1e-5
Examples = tuple[dict[str, numpy.ndarray], numpy.ndarray]  # columns by name, and what was clicked
TRAINED_ON, JUDGED_ON, BATCH = 20_000, 2_000, 256


def zipf(rng: numpy.random.Generator, count: int, size: int | tuple[int, ...], exponent: float = 1.1) -> numpy.ndarray:
    """Ids below `count`: few are most of what is seen, as with users and items."""
    odds = 1 / numpy.arange(1, count + 1) ** exponent
    return rng.choice(count, size=size, p=odds / odds.sum())


def clicks(rng: numpy.random.Generator, logits: numpy.ndarray) -> numpy.ndarray:
    """Half of them are ones, more often where the logit is higher."""
    return (rng.random(len(logits)) < 1 / (1 + numpy.exp(numpy.median(logits) - logits))).astype(numpy.float32)


def trained(model: torch.nn.Module, columns: dict[str, numpy.ndarray], labels: numpy.ndarray) -> torch.nn.Module:
    """After one epoch, with the package's own loop: weights and statistics of batch norms are none of a constructor."""
    with torch.enable_grad(), contextlib.redirect_stdout(io.StringIO()):
        model.compile('adam', 'binary_crossentropy')
        model.fit(columns, labels, batch_size=BATCH, epochs=1, verbose=0, shuffle=False)
    return model.eval()


def rows_of(model: torch.nn.Module, columns: dict[str, numpy.ndarray]) -> torch.Tensor:
    """The table that the package makes of columns: one row of floats for each example."""
    parts = [columns[name].reshape(len(columns[name]), -1) for name in model.feature_index]
    return torch.from_numpy(numpy.concatenate(parts, axis=1).astype(numpy.float32))


def published(name: str, model_of: Callable[[], torch.nn.Module],
              examples: Callable[[numpy.random.Generator, int], Examples]) -> Published:
    torch.manual_seed(0)
    rng = numpy.random.default_rng(0)
    model = trained(model_of(), *examples(rng, TRAINED_ON))
    columns, labels = examples(rng, JUDGED_ON)
    rows = rows_of(model, columns)

    def judge(runner: Runner, bound: float) -> str:
        scores = torch.cat([runner(part) for part in rows.split(BATCH)])  # the last is smaller
        area = roc_auc_score(labels, scores.flatten().numpy())
        assert area > 0.6, f'the scores order examples it was not trained on no better than with an area of {area:.4f}'
        return f'scores {len(rows)} examples it was not trained on with an area of {area:.4f} under the curve'

    def batch(first: int, size: int) -> Arguments:
        return (rows[first:first + size].clone(),)

    timed = {f'batch {size}': batch(0, size) for size in (1, 20)}
    compared = [batch(7 * i, size) for i in range(8) for size in (1, 2, 20, 64)]
    dynamic = ({0: torch.export.Dim('batch', min=1, max=4096)},)
    return Published(Program(name, model, batch(0, 20), ('rows',), dynamic), timed, compared, BOUND, judge)
