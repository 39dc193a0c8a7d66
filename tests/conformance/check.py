"""The runs of one graph: what eager, the interpreter and every kind of runtime make of a schedule."""

import ctypes
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch

from compare import Rules, difference
from outcome import Outcome, outcome_difference, run
from pool import IN_LIBTORCH
from schedule import Inputs


LIBC = ctypes.CDLL(None)
M_PERTURB = -6


@dataclasses.dataclass(frozen=True)
class Configuration:
    planner: str
    fast: bool = False
    replay: bool = True
    managed_outputs: bool = False
    max_plan_bytes: int = 1 << 20

    def options(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, getattr(self, name)) for name in ('fast', 'replay', 'managed_outputs', 'max_plan_bytes'))

    def name(self) -> str:
        words = (self.planner, *(field for field in ('fast', 'managed_outputs') if getattr(self, field)))
        return ', '.join(words if self.replay else (*words, 'no replay')).replace('_', ' ')


# A plan for every signature of a schedule, or eight that give way to one another.
MANY = 1 << 40

CONFIGURATIONS = (
    Configuration('linear_scan', max_plan_bytes=MANY),
    Configuration('standard_resizing', replay=False, managed_outputs=True),
    Configuration('greedy_by_size', replay=False),
    Configuration('no_reuse'),
    Configuration('poison', managed_outputs=True, max_plan_bytes=MANY),
    Configuration('linear_scan', fast=True, max_plan_bytes=MANY),
)


@dataclasses.dataclass
class Findings:
    runs: int = 0
    throws: int = 0
    wrong: list[dict[str, str]] = dataclasses.field(default_factory=list)
    strides: list[dict[str, str]] = dataclasses.field(default_factory=list)  # other ones, with equal values
    rounding: list[dict[str, str]] = dataclasses.field(default_factory=list)  # equal within TOLERANCES
    unrepeatable: list[dict[str, str]] = dataclasses.field(default_factory=list)  # by the interpreter either
    ill_conditioned: list[dict[str, str]] = dataclasses.field(default_factory=list)  # see Truth.amplifies
    nearer: list[dict[str, str]] = dataclasses.field(default_factory=list)  # see Truth.agrees_in_double
    not_eager: list[dict[str, str]] = dataclasses.field(default_factory=list)  # the interpreter's own
    paths: set[tuple[str, str, str]] = dataclasses.field(default_factory=set)


class Truth:
    """What the interpreter does with inputs, and whether eager does the same; found once."""

    def __init__(self, script: torch.jit.ScriptFunction, rules: Rules, findings: Findings, random: bool = False):
        self.script, self.rules, self.findings = script, rules, findings
        # The database's functions set their own seed before they draw, which graphs do not.
        self.eager_rules = rules.but(close=True, values=rules.values and not random)
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
            what = difference(lists(eager.result), lists(outcome.result), self.eager_rules)
            what = what or difference(eager.inputs, outcome.inputs, self.eager_rules, 'inputs')
        if what:
            self.findings.not_eager.append({'inputs': inputs.name, 'what': what})

    def repeats(self, inputs: Inputs) -> bool:
        """Whether the interpreter gives its own answer again, whatever memory holds."""
        expected = self.of(inputs)
        for byte in (0x40, 0x7F, 0xBF, 0):
            LIBC.mallopt(M_PERTURB, byte)  # what free memory is filled with; at last nothing
            if outcome_difference(expected, run(self.script, inputs.tensors), self.rules):
                LIBC.mallopt(M_PERTURB, 0)
                return False
        return True

    def amplifies(self, inputs: Inputs) -> bool:
        """True if arguments one rounding away make the interpreter differ from itself by more than TOLERANCES."""
        expected = self.of(inputs)
        for towards in (math.inf, -math.inf):
            nudged = run(self.script, tuple(nudge(tensor, towards) for tensor in inputs.tensors))
            if nudged.thrown is not None or difference(expected.result, nudged.result,
                                                       self.rules.but(strides=False, close=True)):
                return True
        return False

    def agrees_in_double(self, inputs: Inputs, actual: Outcome) -> bool:
        """True if `actual` is within TOLERANCES of what the interpreter gets in double. Then its own result in single,
        rounded by LibTorch's kernels for this CPU, is the one that is off."""
        exact = run(self.script, tuple(widened(tensor) for tensor in inputs.tensors))
        if exact.thrown is not None or actual.thrown is not None:
            return False
        result = as_dtypes_of(self.of(inputs).result, exact.result)
        return not difference(result, actual.result, self.rules.but(strides=False, close=True))


def widened(tensor: torch.Tensor) -> torch.Tensor:
    is_single = tensor.dtype == torch.float32 and tensor.layout == torch.strided
    return tensor.double() if is_single else tensor


def as_dtypes_of(pattern: Any, value: Any) -> Any:
    """`value` with the dtypes of the tensors of `pattern`, as far as both are nested alike."""
    if isinstance(pattern, torch.Tensor) and isinstance(value, torch.Tensor):
        return value.to(pattern.dtype)
    if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
        nested = [as_dtypes_of(one, other) for one, other in zip(pattern, value)]
        return nested if isinstance(pattern, list) else tuple(nested)
    return value


def nudge(tensor: torch.Tensor, towards: float) -> torch.Tensor:
    """The next floating point number for every other element; of the same layout as far as that can be written."""
    if not tensor.is_floating_point() or tensor.layout != torch.strided or tensor.is_quantized:
        return tensor
    moved = torch.nextafter(tensor, torch.full_like(tensor, towards))
    every_other = torch.arange(tensor.numel()).view(tensor.shape) % 2 == 0
    return torch.where(every_other, moved, tensor)


def lists(result: Any) -> Any:
    """Eager returns tuples with names, tensors' sizes and lists where a trace has plain tuples."""
    if isinstance(result, dict):
        return {key: lists(value) for key, value in result.items()}
    return [lists(one) for one in result] if isinstance(result, (list, tuple)) else result


def check(bridge: Any, script: torch.jit.ScriptFunction, schedule: list[Inputs], values: bool = True,
          random: bool = False, at: Callable[[str], None] = lambda text: None) -> Findings:
    findings = Findings()
    at(IN_LIBTORCH)
    rules = Rules(values=values)
    truth = Truth(script, rules, findings, random)
    for inputs in schedule:
        truth.of(inputs)
    modules: dict[Any, Any] = {}
    for configuration in CONFIGURATIONS:
        at(configuration.name())
        options = configuration.options()
        try:
            if options not in modules:
                modules[options] = bridge.Module(script.graph, **dict(options))
            runtime = bridge.Runtime(modules[options], configuration.planner)
        except Exception as error:
            findings.wrong.append({'configuration': configuration.name(), 'what': f'is not prepared: {error}'})
            continue
        Course(runtime, truth, configuration, findings).take(schedule)
        findings.paths |= runtime.describe()['paths']
    return findings


class Course:
    """One runtime's way through a schedule."""

    def __init__(self, runtime: Any, truth: Truth, configuration: Configuration, findings: Findings):
        self.runtime, self.truth, self.configuration, self.findings = runtime, truth, configuration, findings
        self.rules = truth.rules.but(close=configuration.fast)
        self.kept: dict[int, tuple[Inputs, Outcome]] = {}

    def take(self, schedule: list[Inputs]):
        """Up to the first wrong result, since later ones may follow from it. Right ones must stay so."""
        for i, inputs in enumerate(schedule):
            outcome = run(self.runtime, inputs.tensors)
            self.findings.runs += 1
            what = outcome_difference(self.truth.of(inputs), outcome, self.rules)
            if what and not self.excused(f'{inputs.name} (run {i})', inputs, outcome, what):
                return
            if not what and not self.configuration.managed_outputs:  # those are recycled when no reference is left
                self.kept.setdefault(id(inputs), (inputs, outcome))
        for inputs, outcome in self.kept.values():
            what = difference(self.truth.of(inputs).result, outcome.result, self.rules)
            if what:
                self.note(self.findings.wrong, inputs.name, f'a result that was right changed in later runs: {what}')
                return

    def excused(self, name: str, inputs: Inputs, outcome: Outcome, what: str) -> bool:
        """False: it is wrong. Strides are told once for a runtime; libraries below LibTorch round by where their
        arguments lie in memory."""
        real = outcome_difference(self.truth.of(inputs), outcome, self.rules.but(strides=False))
        if not real:
            self.note(self.findings.strides, name, what)
            self.rules = self.rules.but(strides=False)
        elif not self.truth.repeats(inputs):
            self.note(self.findings.unrepeatable, name, real)
        elif not outcome_difference(self.truth.of(inputs), outcome, self.rules.but(strides=False, close=True)):
            self.note(self.findings.rounding, name, real)
        elif self.configuration.fast and self.truth.amplifies(inputs):  # kernels may differ by a rounding, and do
            self.note(self.findings.ill_conditioned, name, real)
        elif self.configuration.fast and self.truth.agrees_in_double(inputs, outcome):
            self.note(self.findings.nearer, name, real)
        else:
            self.note(self.findings.wrong, name, real)
            return False
        return True

    def note(self, notes: list[dict[str, str]], name: str, what: str):
        notes.append({'configuration': self.configuration.name(), 'inputs': name, 'what': what})
