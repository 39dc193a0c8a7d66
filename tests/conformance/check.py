"""The runs of one graph: what eager, the interpreter and every kind of runtime make of a schedule."""

import dataclasses
from typing import Any

import torch

from compare import difference
from outcome import Outcome, outcome_difference, run
from schedule import Inputs


@dataclasses.dataclass(frozen=True)
class Configuration:
    planner: str
    fast: bool = False
    replay: bool = True
    managed_outputs: bool = False
    max_plans: int = 8

    def options(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, getattr(self, name)) for name in ('fast', 'replay', 'managed_outputs', 'max_plans'))

    def name(self) -> str:
        words = (self.planner, *(field for field in ('fast', 'managed_outputs') if getattr(self, field)))
        return ', '.join(words if self.replay else (*words, 'no replay')).replace('_', ' ')


# A plan for every signature of a schedule, or eight that give way to one another.
MANY = 100_000

CONFIGURATIONS = (
    Configuration('linear_scan', max_plans=MANY),
    Configuration('standard_resizing', replay=False, managed_outputs=True),
    Configuration('greedy_by_size', replay=False),
    Configuration('no_reuse'),
    Configuration('poison', managed_outputs=True, max_plans=MANY),
    Configuration('linear_scan', fast=True, max_plans=MANY),
)


@dataclasses.dataclass
class Findings:
    runs: int = 0
    throws: int = 0
    wrong: list[dict[str, str]] = dataclasses.field(default_factory=list)
    not_eager: list[dict[str, str]] = dataclasses.field(default_factory=list)  # the interpreter's own
    paths: set[tuple[str, str, str]] = dataclasses.field(default_factory=set)


class Truth:
    """What the interpreter does with inputs, and whether eager does the same; found once."""

    def __init__(self, script: torch.jit.ScriptFunction, values: bool, findings: Findings):
        self.script, self.values, self.findings = script, values, findings
        self.known: dict[int, Outcome] = {}

    def of(self, inputs: Inputs) -> Outcome:
        if id(inputs) not in self.known:
            outcome = self.known[id(inputs)] = run(self.script, inputs.tensors)
            self.findings.throws += outcome.thrown is not None
            if inputs.eager is not None:
                self.compare_with_eager(inputs, outcome)
        return self.known[id(inputs)]

    def compare_with_eager(self, inputs: Inputs, outcome: Outcome):
        eager = run(inputs.eager, inputs.tensors)
        if (eager.thrown is None) != (outcome.thrown is None):
            what = f'eager: {eager.thrown or "returns"}; the interpreter: {outcome.thrown or "returns"}'
        else:
            what = difference(lists(eager.result), lists(outcome.result), True, self.values)
            what = what or difference(eager.inputs, outcome.inputs, True, self.values, 'inputs')
        if what:
            self.findings.not_eager.append({'inputs': inputs.name, 'what': what})


def lists(result: Any) -> Any:
    """Eager returns tuples with names, tensors' sizes and lists where a trace has plain tuples."""
    if isinstance(result, dict):
        return {key: lists(value) for key, value in result.items()}
    return [lists(one) for one in result] if isinstance(result, (list, tuple)) else result


def check(bridge: Any, script: torch.jit.ScriptFunction, schedule: list[Inputs], values: bool = True,
          configurations: tuple[Configuration, ...] = CONFIGURATIONS, at=lambda text: None) -> Findings:
    findings = Findings()
    at('the interpreter and eager')
    truth = Truth(script, values, findings)
    expected = [truth.of(inputs) for inputs in schedule]
    modules: dict[Any, Any] = {}
    for configuration in configurations:
        at(configuration.name())
        options = configuration.options()
        try:
            if options not in modules:
                modules[options] = bridge.Module(script.graph, **dict(options))
            runtime = bridge.Runtime(modules[options], configuration.planner)
        except Exception as error:
            findings.wrong.append({'configuration': configuration.name(), 'what': f'is not prepared: {error}'})
            continue
        found = first_difference(runtime, schedule, expected, configuration, values, findings)
        if found:
            findings.wrong.append({'configuration': configuration.name(), **found})
        findings.paths |= runtime.describe()['paths']
    return findings


def first_difference(runtime: Any, schedule: list[Inputs], expected: list[Outcome], configuration: Configuration,
                     values: bool, findings: Findings) -> dict[str, str] | None:
    """Later ones may follow from it. Results that were right must stay so in later runs."""
    kept: dict[int, tuple[Outcome, Outcome]] = {}
    for i, (inputs, truth) in enumerate(zip(schedule, expected)):
        outcome = run(runtime, inputs.tensors)
        findings.runs += 1
        found = outcome_difference(truth, outcome, configuration.fast, values)
        if found:
            return {'inputs': f'{inputs.name} (run {i})', 'what': found}
        if not configuration.managed_outputs:  # those are recycled once nobody holds them
            kept.setdefault(id(inputs), (truth, outcome))
    for truth, outcome in kept.values():
        found = difference(truth.result, outcome.result, configuration.fast, values)
        if found:
            return {'inputs': 'a result that the caller kept', 'what': f'changed in later runs: {found}'}
    return None
