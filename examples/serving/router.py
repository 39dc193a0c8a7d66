"""Three models behind a router on Ray Serve: pip install "ray[serve]" sr, then python router.py.

A request is a user and the items to rank. The router asks two models about the user at the same time, and a third one
for the scores of the items. Each model is its own deployment, with replicas and batches of its own.
"""

import asyncio
import pathlib
import tempfile

import torch
from ray import serve
from torch import nn

import sr.serving.ray

USER, ITEM, VECTOR = 24, 12, 16


class Ranking(nn.Module):
    """Scores of items for users, a row each."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(VECTOR + ITEM, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, vectors: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        return self.layers(torch.cat([vectors, items], 1)).squeeze(1)


def make_models() -> dict[str, nn.Module]:
    """Models that were never trained."""
    torch.manual_seed(0)
    models = {'embedding': nn.Sequential(nn.Linear(USER, 64), nn.Tanh(), nn.Linear(64, VECTOR)),
              'fraud': nn.Sequential(nn.Linear(USER, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid(), nn.Flatten(0)),
              'ranking': Ranking()}
    return {name: model.eval().requires_grad_(False) for name, model in models.items()}


def write_models(models: dict[str, nn.Module], folder: pathlib.Path) -> None:
    """As torch.export writes them, for batches of any number of rows up to 1024."""
    rows = torch.export.Dim('rows', min=1, max=1024)
    examples = {'embedding': (torch.randn(2, USER),), 'fraud': (torch.randn(2, USER),),
                'ranking': (torch.randn(2, VECTOR), torch.randn(2, ITEM))}
    for name, example in examples.items():
        program = torch.export.export(models[name], example, dynamic_shapes=tuple({0: rows} for _ in example))
        torch.export.save(program, str(folder / f'{name}.pt2'))


@serve.deployment
class Router:
    def __init__(self, embedding, fraud, ranking):
        self.embedding, self.fraud, self.ranking = embedding, fraud, ranking

    async def __call__(self, user: torch.Tensor, items: torch.Tensor, most_risk: float = 1.0) -> torch.Tensor | None:
        """The scores of the items [n, ITEM] for the user [1, USER]; None if the user's risk is higher than that."""
        vector, risk = await asyncio.gather(self.embedding.remote(user), self.fraud.remote(user))
        if risk.item() > most_risk:
            return None
        return await self.ranking.remote(vector.expand(len(items), -1).contiguous(), items)


def application(folder: pathlib.Path, replicas: int = 1) -> serve.Application:
    """The router and its models, whose files every node must be able to read."""
    def deployed(name, *warmup, **batching):
        return sr.serving.ray.deployment(folder / f'{name}.pt2', name=name, replicas=replicas, warmup=[warmup],
                                         batching=batching)

    return Router.bind(
        deployed('embedding', torch.zeros(1, USER), max_rows=64),
        deployed('fraud', torch.zeros(1, USER), max_rows=64),
        deployed('ranking', torch.zeros(50, VECTOR), torch.zeros(50, ITEM), max_rows=512, max_wait=0.001))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_models(make_models(), folder)
        router = serve.run(application(folder))
        scores = router.remote(torch.randn(1, USER), torch.randn(5, ITEM)).result(timeout_s=60)
        print('scores of five items:', [round(score, 3) for score in scores.tolist()])
        serve.shutdown()


if __name__ == '__main__':
    main()
