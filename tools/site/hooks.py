"""Pages of the site that are not files in docs/: those at the root of the tree, references, and files that pages link.

MkDocs calls the functions.
"""

import pathlib
import posixpath
import re

import sr
from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parents[2]
AT_ROOT = {'README.md': 'index.md', 'SECURITY.md': 'SECURITY.md', 'CONTRIBUTING.md': 'CONTRIBUTING.md',
           'CHANGELOG.md': 'CHANGELOG.md', 'LICENSE': 'LICENSE.txt',
           'examples/notebook/first_model.ipynb': 'first_model.ipynb', 'examples/serving/router.py': 'router.py'}

CPP = """# C++

The headers of the public face, with the comments of their functions, are in the [reference made by Doxygen](../cpp/index.html).

| header | what it is for |
|---|---|
| `<sr/load.hpp>` | a model from a file |
| `<sr/static_module.hpp>` | a model made ready, which any number of threads may call |
| `<sr/static_runtime.hpp>` | the runtime of one thread |
| `<sr/runtime_pool.hpp>` | runtimes for many callers |
| `<sr/batcher.hpp>` | batches of the requests of many callers |
| `<sr/bound_call.hpp>` | calls that read and write the same tensors each time |
| `<sr/options.hpp>`, `<sr/error.hpp>` | options of a module, and what is thrown |
| `<sr/report.hpp>`, `<sr/profile.hpp>`, `<sr/compat/benchmark.hpp>` | what a runtime does, and how long it takes |
| `<sr/quantize.hpp>` | linear layers in int8 |
| `<sr/op.hpp>` | operators of your own |
| `<sr/sr.hpp>` | all of them |
"""


def _python_reference():
    text = ['# Python\n\nEverything in `sr`; [Python](../guide/python.md) tells how it fits together.\n']
    for name in sorted(sr.__all__, key=str.lower):
        text.append(f'::: sr.{name}\n')
    text.append('::: sr.metrics.Collector\n')
    return '\n'.join(text)


def on_files(files, config):
    for source, name in AT_ROOT.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    files.append(File.generated(config, 'reference/python.md', content=_python_reference()))
    files.append(File.generated(config, 'reference/cpp.md', content=CPP))
    for file in files:
        if file.src_uri.startswith('internals/decisions/'):
            file.inclusion = InclusionLevel.NOT_IN_NAV
    return files


def on_page_markdown(markdown, page, config, files):
    """Links between the root of the tree and docs/."""
    folder = posixpath.dirname(page.file.src_uri)

    def moved(match):
        target, anchor = match[1], match[2] or ''
        if page.file.src_uri in AT_ROOT.values():
            return '](' + AT_ROOT.get(target, target.removeprefix('docs/')) + anchor + ')'
        at_root = posixpath.normpath(posixpath.join('docs', folder, target))
        if at_root in AT_ROOT:
            target = posixpath.relpath(AT_ROOT[at_root], folder or '.')
        return '](' + target + anchor + ')'

    return re.sub(r'\]\(([^)#:\s]+)(#[^)\s]*)?\)', moved, markdown)
