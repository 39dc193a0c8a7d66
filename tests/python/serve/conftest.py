import pytest

import served


@pytest.fixture(scope='session')
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp('models')
    return path


@pytest.fixture(scope='session')
def models(folder):
    return served.write_models(folder)


@pytest.fixture(scope='session')
def server(folder, models):
    files = [f'{name}={folder / name}.{"pt2" if name == "ranking" else "pt"}' for name in models]
    with served.serving(*files) as running:
        yield running
