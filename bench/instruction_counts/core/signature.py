"""`f(x, w) -> y`: the names that a statement reads and computes, and the check that its code agrees."""

import ast
import re
from typing import NamedTuple

from core.types import DefinitionError

FORM = re.compile(r'\s*[A-Za-z_]\w*\s*\(([^()]*)\)\s*(?:->\s*([^\s].*?))?\s*')


class Signature(NamedTuple):
    inputs: tuple[str, ...]
    output: str | None


def parse_signature(text: str) -> Signature:
    form = FORM.fullmatch(text)
    if not form:
        raise DefinitionError(f"'{text}' is no signature; one looks like 'f(x, w) -> y', or 'f(x)' without an output")
    inputs = tuple(name.strip() for name in form[1].split(',')) if form[1].strip() else ()
    output = None if form[2] in (None, 'None') else form[2]
    for name in (*inputs, *([output] if output else [])):
        if not name.isidentifier():
            raise DefinitionError(f"'{name}' in the signature '{text}' is no name")
    if len(set(inputs)) != len(inputs):
        raise DefinitionError(f"the signature '{text}' has an input twice")
    return Signature(inputs, output)


def python_names(code: str) -> set[str]:
    """The names that the code binds at its own level, not inside functions and classes."""
    names: set[str] = set()

    def visit(node: ast.AST):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split('.')[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            return
        elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    try:
        visit(ast.parse(code))
    except SyntaxError as error:
        raise DefinitionError(f'`{code}` is no Python: {error.msg}, line {error.lineno}') from error
    return names


def cpp_binds(code: str, name: str) -> bool:
    """Whether C++ declares the name or assigns to it: a look at the text, the compiler has the last word."""
    word = rf'\b{re.escape(name)}\b'
    return bool(re.search(rf'[\w>][&*\s]+{word}\s*[=({{;\[,]|{word}\s*=[^=]|auto[&\s]*\[[^\]]*{word}[^\]]*\]', code))


def check_python(signature: Signature, stmt: str, setup: str):
    defined = python_names(setup)
    for name in signature.inputs:
        if name not in defined:
            raise DefinitionError(f"the signature reads '{name}', which the Python set-up does not define")
    if signature.output and signature.output not in python_names(stmt):
        raise DefinitionError(f"the signature's output '{signature.output}' is not assigned by `{stmt}`")


def check_cpp(signature: Signature, stmt: str, setup: str):
    for name in signature.inputs:
        if not cpp_binds(setup, name):
            raise DefinitionError(f"the signature reads '{name}', which the C++ set-up does not define")
    if signature.output and not cpp_binds(stmt, signature.output):
        raise DefinitionError(f"the signature's output '{signature.output}' is not assigned by `{stmt}`")
