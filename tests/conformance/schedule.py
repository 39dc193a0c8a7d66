"""Which inputs one runtime is given, in which order."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from layouts import LAYOUTS, relaid


MOST_ELEMENTS = 50_000  # of a sample that is run again and again


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """One set of arguments of a graph. Those of its own samples have eager as the truth, others the interpreter."""

    name: str
    tensors: tuple[torch.Tensor, ...]
    eager: Callable[..., Any] | None = None

    def elements(self) -> int:
        return sum(tensor.numel() for tensor in self.tensors)


@dataclasses.dataclass(frozen=True, eq=False)
class Member:
    """A sample that exports to the graph of a group, and the same sample with other values."""

    index: int  # among the samples of its dtype
    sample: Inputs
    twin: Inputs | None


def tour(members: list[Member], strangers: list[Inputs], layouts: bool = True) -> Iterator[Inputs]:
    """Each sample, again with other values, the one before it, and again twice, by when it is replayed. Then each
    once more, a dtype a time. Then samples of other graphs, and the first sample's other layouts; between all of
    them the first comes back."""
    large = [member for member in members if member.sample.elements() > MOST_ELEMENTS]
    for member in large:  # as often as it takes to replay one
        yield from (member.sample, member.sample, member.twin or member.sample)
    members = [member for member in members if member not in large]
    if not members:
        return
    before = members[-1].sample
    for member in members:
        yield member.sample
        yield member.twin or member.sample
        if before is not member.sample:
            yield before
        yield member.sample
        yield member.twin or member.sample
        before = member.sample
    yield from (member.sample for member in sorted(members, key=lambda member: member.index))
    home = members[0].sample
    others = list(strangers)
    if layouts:
        others += other_layouts(home)
    for other in others:
        yield from (other, home, other, other)
    yield home


def other_layouts(inputs: Inputs) -> list[Inputs]:
    found = []
    for name in LAYOUTS:
        tensors = relaid(inputs.tensors, name)
        if tensors is not None:
            found.append(Inputs(f'{inputs.name}, {name}', tensors))
    return found
