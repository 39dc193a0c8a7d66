"""Prepares a scripted model in Python for each runtime other than the interpreter, and calls it."""

from core.types import Runtime

# The statements that prepare `jit_model`.
PREPARED = {
    Runtime.UPSTREAM: 'torch._C._jit_to_static_module(jit_model._c)',
    Runtime.SR_GENERAL: 'sr.StaticModule(jit_model, enable_replay=False)',
    Runtime.SR_FRESH: 'sr.StaticModule(jit_model)',
    Runtime.SR_MANAGED: 'sr.StaticModule(jit_model, manage_output_tensors=True)',
    Runtime.SR_INTO: 'sr.StaticModule(jit_model)'}
IN_PYTHON = tuple(PREPARED)


def setup_of(runtime: Runtime, arguments: str) -> str:
    """The set-up that follows `jit_model = torch.jit.load(...)`."""
    if runtime not in PREPARED:
        return ''
    lines = ['import sr'] if runtime is not Runtime.UPSTREAM else []
    lines.append(f'jit_model = {PREPARED[runtime]}')
    if runtime is Runtime.SR_INTO:
        lines.append(f'buffer = torch.empty_like(jit_model({arguments}))')
    return ''.join(f'\n{line}' for line in lines)


def call_of(runtime: Runtime, arguments: str) -> str:
    into = ('out=buffer',) if runtime is Runtime.SR_INTO else ()
    return f'jit_model({", ".join(filter(None, (arguments, *into)))})'
