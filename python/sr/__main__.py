"""`python -m sr`, and the command `sr` of an installed package: the tool."""

import os
import sys
from typing import NoReturn

from . import _C


def main() -> NoReturn:
    """Becomes the tool `sr`, with the arguments of this process. `sr --help` lists its verbs."""
    tool = os.path.join(os.path.dirname(os.path.abspath(_C.__file__)), 'bin', 'sr')
    if not os.path.exists(tool):
        sys.exit('sr: This package was built without the tool, which needs CLI11 and nlohmann_json (Debian: libcli11-dev, '
                 'nlohmann-json3-dev, and pkg-config, which finds them). Install them, and then sr again.')
    os.environ.setdefault('SR_PYTHON', sys.executable)  # which times the rivals that it has
    os.execv(tool, [tool, *sys.argv[1:]])


if __name__ == '__main__':
    main()
