"""Each page of the documentation, where ./dev docs has built it."""

import functools
import http.server
import pathlib
import threading

import pytest

from browser import opened_at

SITE = pathlib.Path(__file__).parents[3] / 'build/site'
PAGES = sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob('*.html')
               if page.relative_to(SITE).parts[0] != 'cpp') if SITE.exists() else []


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope='module')
def served():
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=SITE)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f'http://127.0.0.1:{server.server_port}/'
        server.shutdown()
        thread.join()


@pytest.mark.skipif(not PAGES, reason='./dev docs has not built it')
def test_the_site_has_pages_of_its_references():
    assert {'index.html', 'tuning.html', 'reference/python.html', 'reference/cpp.html'} <= set(PAGES)
    assert (SITE / 'cpp/classsr_1_1StaticRuntime.html').exists()


@pytest.mark.parametrize('page', PAGES)
def test_a_page_opens(page, served):
    seen = opened_at(served, SITE / page, page)
    assert seen['errors'] == []
    assert all(address.startswith(served) for address in seen['fetched']), seen['fetched']  # nothing from elsewhere
    assert page == '404.html' or len(seen['text']) > 400
