"""Expands nested definitions to a flat list of measurements: every language, runtime, autograd mode, thread count."""

import pathlib
from typing import Any, Iterator, NamedTuple

from core.api import GroupedBenchmark, TimerArgs
from core.prepared import IN_PYTHON, call_of, setup_of
from core.script import Saved, check_gradient, run_setup, save_script
from core.types import IN_PROGRAM, Autograd, DefinitionError, Labels, Language, Path, Runtime
from core.utils import flatten

WARM_UP = 3  # calls: the interpreter profiles the first and compiles again in the second


class Case(NamedTuple):
    path: Path
    labels: Labels
    args: TimerArgs

    def name(self) -> str:
        language, runtime, autograd, threads = self.labels.words()
        return f'{" / ".join(self.path)} [{language}, {runtime}, {autograd}, {threads} threads]'


def forward_stmt(benchmark: GroupedBenchmark, labels: Labels, script: Saved | None) -> str:
    """Eager's statement, or a call of the model in its place that assigns to the same name."""
    if script is None:
        return benchmark.py_stmt if labels.language is Language.PYTHON else benchmark.cpp_stmt
    inputs, output = benchmark.signature
    if labels.language is Language.PYTHON:
        return (f'{output} = ' if output else '') + call_of(labels.runtime, ', '.join(inputs))
    value = '.toTensor()' if script.gives_tensor else ''
    return (f'auto {output} = ' if output else '') + f'jit_model.forward({{{", ".join(inputs)}}}){value};'


def backward_stmt(benchmark: GroupedBenchmark, language: Language) -> str:
    return f'\n{benchmark.signature.output}.backward()' + (';' if language is Language.CPP else '')


def timer_args(benchmark: GroupedBenchmark, labels: Labels, script: Saved | None) -> TimerArgs:
    python = labels.language is Language.PYTHON
    stmt = forward_stmt(benchmark, labels, script)
    if labels.autograd is Autograd.BACKWARD:
        stmt += backward_stmt(benchmark, labels.language)
    setup, global_setup = benchmark.py_setup() if python else benchmark.cpp_setup(), ''
    if not python:
        global_setup = benchmark.setup.global_setup
    if script is not None and python:
        calls = ''.join(f'    {line}\n' for line in stmt.splitlines())
        setup += f'\njit_model = torch.jit.load({str(script.model)!r})'
        setup += setup_of(labels.runtime, ', '.join(benchmark.signature.inputs))
        setup += f'\nfor _ in range({WARM_UP}):\n{calls}'.rstrip()
    elif script is not None:
        global_setup = '#include <torch/script.h>\n' + global_setup
        setup += (f'\nauto jit_model = torch::jit::load("{script.model}");'
                  f'\nfor (int call = 0; call < {WARM_UP}; ++call) {{\n{stmt}\n}}')
    return TimerArgs(stmt, setup, global_setup, labels.threads, labels.language)


def cases_of(benchmark: GroupedBenchmark, path: Path, folder: pathlib.Path,
             runner: pathlib.Path | None, with_sr: bool) -> Iterator[Case]:
    script = save_script(benchmark, folder) if benchmark.torchscript else None
    if benchmark.autograd and benchmark.py_stmt is not None:
        check_gradient(benchmark, run_setup(benchmark))
    stmts = {Language.PYTHON: benchmark.py_stmt, Language.CPP: benchmark.cpp_stmt}
    languages = [language for language, stmt in stmts.items() if stmt is not None]
    for threads in benchmark.num_threads:
        for language in languages:
            for runtime, model in ((Runtime.EAGER, None), *([(Runtime.TORCHSCRIPT, script)] if script else [])):
                for autograd in (Autograd.FORWARD, *([Autograd.BACKWARD] if benchmark.autograd else [])):
                    labels = Labels(language, runtime, autograd, threads)
                    yield Case(path, labels, timer_args(benchmark, labels, model))
        if script and script.gives_tensor and with_sr:
            for runtime in IN_PYTHON:
                labels = Labels(Language.PYTHON, runtime, Autograd.FORWARD, threads)
                yield Case(path, labels, timer_args(benchmark, labels, script))
        if script and script.gives_tensor and runner:
            for runtime in IN_PROGRAM:
                labels = Labels(Language.CPP, runtime, Autograd.FORWARD, threads)
                program = (str(runner), '--runtime', runtime.value, '--model', str(script.model),
                           '--inputs', str(script.inputs))
                yield Case(path, labels, TimerArgs(benchmark.py_stmt, num_threads=threads, language=Language.CPP,
                                                   program=program))


def materialize(definitions: dict[Any, Any], folder: pathlib.Path, runner: pathlib.Path | None = None,
                with_sr: bool = False) -> list[Case]:
    """Models are saved below `folder`. With `runner` (runner.cpp) they also run in upstream's Static Runtime and sr from
    C++, `with_sr` from Python, which must then find the package sr."""
    cases: list[Case] = []
    for path, benchmark in flatten(definitions):
        try:
            if not isinstance(benchmark, GroupedBenchmark):
                raise DefinitionError(f'a {type(benchmark).__name__} is no GroupedBenchmark')
            cases += cases_of(benchmark, path, folder, runner, with_sr)
        except DefinitionError as error:
            raise DefinitionError(f'{" / ".join(path)}: {error}') from error
    names = [case.name() for case in cases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DefinitionError(f'{twice} is defined twice')
    return cases
