"""How benchmarks are defined: TimerArgs for one Timer, GroupedBenchmark for a statement and all its variants."""

import dataclasses
import json
from typing import Any, Iterable

from core.signature import Signature, check_cpp, check_python, parse_signature
from core.types import DefinitionError, Language
from core.utils import dedent, nest, pair_blocks


@dataclasses.dataclass(frozen=True)
class TimerArgs:
    """The arguments of one torch.utils.benchmark.Timer, or a program that is measured in place of a statement."""

    stmt: str
    setup: str = ''
    global_setup: str = ''
    num_threads: int = 1
    language: Language = Language.PYTHON
    program: tuple[str, ...] = ()  # speaks the command line of runner.cpp

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self) | {'language': self.language.value})

    @classmethod
    def from_json(cls, text: str) -> 'TimerArgs':
        fields = json.loads(text)
        return cls(**fields | {'language': Language(fields['language']), 'program': tuple(fields['program'])})


@dataclasses.dataclass(frozen=True)
class GroupedSetup:
    py_setup: str = ''
    cpp_setup: str = ''
    global_setup: str = ''  # C++ outside of functions, such as #include

    def __post_init__(self):
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, dedent(getattr(self, field.name)))


@dataclasses.dataclass(frozen=True)
class GroupedBenchmark:
    """One computation in Python, C++ or both. The statements of a model are calls of it, which from_modules writes."""

    py_stmt: str | None
    cpp_stmt: str | None
    setup: GroupedSetup
    signature: Signature | None
    torchscript: bool
    autograd: bool
    num_threads: tuple[int, ...]
    py_model: str | None = None
    cpp_model: str | None = None

    def __post_init__(self):
        if self.py_stmt is None and self.cpp_stmt is None:
            raise DefinitionError('a benchmark needs a statement in Python, in C++ or in both')
        if not self.num_threads or min(self.num_threads) < 1:
            raise DefinitionError(f'num_threads is one number from 1 on or several, not {self.num_threads}')
        if self.torchscript and (self.signature is None or self.py_stmt is None):
            raise DefinitionError('torchscript=True needs a signature and a statement in Python, to make the model of')
        if self.autograd and (self.signature is None or self.signature.output is None):
            raise DefinitionError("autograd=True needs a signature with an output, such as 'f(x) -> y': "
                                  'y.backward() is called on it')
        if self.signature and self.py_stmt is not None:
            check_python(self.signature, self.py_stmt, self.py_setup())
        if self.signature and self.cpp_stmt is not None:
            check_cpp(self.signature, self.cpp_stmt, self.cpp_setup())

    def py_setup(self) -> str:
        return '\n'.join(filter(None, [self.setup.py_setup, self.py_model and f'model = {self.py_model}']))

    def cpp_setup(self) -> str:
        return '\n'.join(filter(None, [self.setup.cpp_setup, self.cpp_model and f'auto model = {self.cpp_model};']))

    @classmethod
    def from_stmts(cls, py_stmt: str | None = None, cpp_stmt: str | None = None, setup: GroupedSetup = GroupedSetup(),
                   signature: str | None = None, torchscript: bool = False, autograd: bool = False,
                   num_threads: int | Iterable[int] = 1, **models: str) -> 'GroupedBenchmark':
        threads = (num_threads,) if isinstance(num_threads, int) else tuple(num_threads)
        return cls(py_stmt and dedent(py_stmt), cpp_stmt and dedent(cpp_stmt), setup,
                   parse_signature(signature) if signature is not None else None, torchscript, autograd, threads,
                   **models)

    @classmethod
    def from_modules(cls, py_model: str | None = None, cpp_model: str | None = None, *, signature: str,
                     **options: Any) -> 'GroupedBenchmark':
        """Models as expressions: `nn.Linear(4, 2)` in Python, `torch::nn::Linear(4, 2)` in C++."""
        inputs, output = parse_signature(signature)
        arguments = ', '.join(inputs)
        py_stmt = (f'{output} = ' if output else '') + f'model({arguments})'
        cpp_stmt = (f'auto {output} = ' if output else '') + f'model->forward({arguments});'
        return cls.from_stmts(py_stmt if py_model else None, cpp_stmt if cpp_model else None, signature=signature,
                              py_model=py_model, cpp_model=cpp_model, **options)

    @classmethod
    def from_variants(cls, py_block: str | None = None, cpp_block: str | None = None,
                      **options: Any) -> dict[str, Any]:
        """A benchmark for each line. A comment at a line's end is its label; one on its own line labels those below."""
        pairs = pair_blocks(py_block, cpp_block)
        return nest({path: cls.from_stmts(*pair, **options) for path, pair in pairs.items()})


GroupedStmts = GroupedBenchmark.from_stmts
GroupedModules = GroupedBenchmark.from_modules
GroupedVariants = GroupedBenchmark.from_variants
