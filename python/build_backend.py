"""Builds the Python package with meson-python, against the torch of the environment or of SR_TORCH.

That is the torch of the environment that installs sr. pip hides this environment from a build and would fetch another
torch for it, the newest, with gigabytes of CUDA libraries; an extension built against that one does not load here.
"""

import importlib.util
import os
import pathlib
import site
import sysconfig
from typing import Any

import mesonpy
from mesonpy import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = ['build_editable', 'build_sdist', 'build_wheel', 'get_requires_for_build_editable',
           'get_requires_for_build_sdist', 'get_requires_for_build_wheel']

_MISSING = ('sr is built against the torch that is installed, and there is none here. Install it first, then sr: '
            'pip install torch==2.13.0 && pip install . (SR_TORCH=DIR names a site-packages/torch elsewhere.)')


def _torch() -> pathlib.Path:
    """The directory of torch. Does not import it: its dependencies may be hidden, too."""
    if given := os.environ.get('SR_TORCH'):
        candidates = [given]
    else:
        places = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib'), site.getusersitepackages()]
        candidates = [os.path.join(place, 'torch') for place in places]
        if spec := importlib.util.find_spec('torch'):
            candidates = [*(spec.submodule_search_locations or ()), *candidates]
    for candidate in candidates:
        if os.path.isdir(os.path.join(candidate, 'include', 'torch', 'csrc', 'jit')):
            return pathlib.Path(candidate).resolve()
    raise SystemExit(_MISSING)


def _with_torch(settings: dict[str, Any] | None) -> dict[str, Any]:
    chosen = dict(settings or {})
    given = chosen.get('setup-args', [])
    chosen['setup-args'] = [f'-Dtorch={_torch()}', *([given] if isinstance(given, str) else given)]
    return chosen


def build_wheel(wheel_directory: str, config_settings: dict[str, Any] | None = None,
                metadata_directory: str | None = None) -> str:
    return mesonpy.build_wheel(wheel_directory, _with_torch(config_settings), metadata_directory)


def build_editable(wheel_directory: str, config_settings: dict[str, Any] | None = None,
                   metadata_directory: str | None = None) -> str:
    return mesonpy.build_editable(wheel_directory, _with_torch(config_settings), metadata_directory)
