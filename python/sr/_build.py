"""Finds the build of sr for the torch that is here: the package has a folder with one for each minor release."""

import importlib.util
import os
import re
from collections.abc import Sequence


def folder_of(torch_version: str) -> str:
    """Returns the name of the folder for a torch such as 2.13.0+cpu: torch_2_13. Patch releases share it."""
    return '_'.join(['torch', *torch_version.split('.')[:2]])


def locate_build(package: str, places: Sequence[str], torch_version: str) -> list[str]:
    """Returns where the build for that torch is, to be added to the package's path.

    Raises ImportError with the versions that there are builds for, if that torch is none of them.
    """
    if build := importlib.util.find_spec(f'.{folder_of(torch_version)}', package):
        return list(build.submodule_search_locations or ())
    found = (re.fullmatch(r'torch_(\d+)_(\d+)', name) for place in places for name in os.listdir(place))
    builds = sorted({(int(match[1]), int(match[2])) for match in found if match})
    versions = ', '.join(f'{major}.{minor}' for major, minor in builds)
    raise ImportError(f'This copy of sr was built for torch {versions}, and torch {torch_version} is installed. Install one of '
                      'those, or build sr for the torch that is here: pip install . in its sources.')
