"""All samples of an entry, exported, with those of the same graph together."""

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from entries import dtypes_of, samples_of
from export import Call, Exported, NotExportable, call_of, reason_of, script_names, scripted, traced
from layouts import copied
from programs import script_of, stock
from schedule import Inputs, Member

SEEDS = (1, 2)


@dataclasses.dataclass
class Group:
    exported: Exported
    members: list[Member] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class FormCount:
    """How many samples of a form there are, how many export, and why the others do not."""

    samples: int = 0
    exported: int = 0
    reasons: collections.Counter = dataclasses.field(default_factory=collections.Counter)


@dataclasses.dataclass
class Exports:
    groups: dict[str, Group] = dataclasses.field(default_factory=dict)
    counts: dict[str, FormCount] = dataclasses.field(default_factory=dict)


def export_entry(op: Any, at: Callable[[str], None] = lambda text: None) -> Exports:
    exports = Exports()
    for dtype in dtypes_of(op):
        name = str(dtype).removeprefix('torch.')
        at(f'samples of {name}')
        try:
            samples, others = (samples_of(op, dtype, seed) for seed in SEEDS)
        except Exception as error:
            count = exports.counts.setdefault('samples', FormCount())
            count.samples += 1
            count.reasons[reason_of(error)] += 1
            continue
        for i, sample in enumerate(samples):
            at(f'export of {name} {i}')
            call = call_of(sample)
            twin = call_of(others[i]) if i < len(others) else None
            for form, make in forms(op, call):
                count = exports.counts.setdefault(form, FormCount())
                count.samples += 1
                try:
                    exported = make()
                except NotExportable as error:
                    count.reasons[str(error)] += 1
                    continue
                count.exported += 1
                group = exports.groups.setdefault(exported.key, Group(exported))
                group.members.append(member(i, name, call, twin, exported))
    return exports


def export_program(name: str) -> Exports:
    """One of ours, with stock tensors; the interpreter is the only truth."""
    script = script_of(name)
    group = Group(Exported('program', script, name, script))
    for i, (tensor, other) in enumerate(zip(stock(SEEDS[0]), stock(SEEDS[1]))):
        told = f'{str(tensor.dtype).removeprefix("torch.")} {i}'
        group.members.append(Member(i, Inputs(told, (tensor,)), Inputs(f'{told}, other values', (other,))))
    count = FormCount(len(group.members), len(group.members))
    return Exports({name: group}, {'program': count})


def forms(op: Any, call: Call) -> Iterator[tuple[str, Callable[[], Exported]]]:
    def fresh() -> tuple[torch.Tensor, ...]:
        return tuple(copied(tensor) for tensor in call.tensors)

    function, in_place = op.get_op(), op.get_inplace()
    yield 'traced', lambda: traced('traced', function, call, fresh())
    if in_place is not None:
        yield 'traced in place', lambda: traced('traced in place', in_place, call, fresh())
    yield 'scripted', lambda: first_scripted(op, function, call)


def first_scripted(op: Any, function: Callable[..., Any], call: Call) -> Exported:
    reasons = []
    for name in script_names(op):
        try:
            return scripted('scripted', name, function, call)
        except NotExportable as error:
            reasons.append(error)
    raise reasons[0]


def member(index: int, dtype: str, call: Call, twin: Call | None, exported: Exported) -> Member:
    same = twin is not None and len(twin.tensors) == len(call.tensors) and all(
        a.shape == b.shape and a.dtype == b.dtype for a, b in zip(call.tensors, twin.tensors))
    name = f'{dtype} {index}'
    return Member(index, Inputs(name, call.tensors, exported.eager),
                  Inputs(f'{name}, other values', twin.tensors, exported.eager) if same else None)


def strangers(group: Group, exports: Exports) -> list[Inputs]:
    """A sample of another graph with as many tensors in the same dtypes, and one in others: what changes here is not
    what the graph was made for, and the interpreter of the graph is the truth."""
    home = group.members[0].sample
    here = [tensor.dtype for tensor in home.tensors]
    found: dict[bool, Inputs] = {}
    for other in exports.groups.values():
        if other is group or other.exported.form != group.exported.form or len(found) == 2:
            continue
        for candidate in other.members:
            tensors = candidate.sample.tensors
            same = [tensor.dtype for tensor in tensors] == here
            if tensors and len(tensors) == len(here) and same not in found:
                found[same] = Inputs(f'{candidate.sample.name} of another graph', tensors)
    return list(found.values())
