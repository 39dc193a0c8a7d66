"""A page in a browser without a screen: what it says of itself once it is drawn."""

import html
import json
import pathlib
import re
import shutil
import subprocess

import pytest

BROWSER = next((found for name in ('chromium-headless-shell', 'chromium', 'google-chrome')
                if (found := shutil.which(name))), None)

# Runs in the page. A text is clipped if it reaches over the border of its picture.
MEASURE = """
<script>
const errors = [];
window.addEventListener('error', event => errors.push(String(event.message || event.target.src)), true);
window.addEventListener('load', () => {
  const clipped = [];
  for (const text of document.querySelectorAll('svg text')) {
    const own = text.getBoundingClientRect(), around = text.closest('svg').getBoundingClientRect();
    if (own.left < around.left - 1 || own.right > around.right + 1 || own.bottom > around.bottom + 1)
      clipped.push(text.textContent);
  }
  const result = {
    width: document.documentElement.scrollWidth, clipped, errors,
    fetched: performance.getEntriesByType('resource').map(entry => entry.name),
    text: document.body.innerText, pictures: document.querySelectorAll('svg').length,
    bars: [...document.querySelectorAll('.sr-bar')].map(bar => bar.getBoundingClientRect().width),
  };
  const element = document.createElement('pre');
  element.id = 'measured';
  element.textContent = JSON.stringify(result);
  document.body.appendChild(element);
});
</script>
"""


def opened(page: str, folder: pathlib.Path, width: int = 800) -> dict:
    """Draws the page in a window of that width, and returns what MEASURE finds."""
    path = folder / 'page.html'
    path.write_text(_measured(page) if '<body' in page else MEASURE + page)
    return _drawn(path.as_uri(), width)


def opened_at(server: str, path: pathlib.Path, name: str, width: int = 800) -> dict:
    """The same of a file that a server gives at that address and name."""
    measured = path.with_suffix('.measured.html')
    try:
        measured.write_text(_measured(path.read_text()))
        return _drawn(server + str(pathlib.PurePosixPath(name).with_suffix('.measured.html')), width)
    finally:
        measured.unlink()


def _measured(page: str) -> str:
    return re.sub('<body[^>]*>', lambda body: body[0] + MEASURE, page, count=1)


def _drawn(address: str, width: int) -> dict:
    if BROWSER is None:
        pytest.skip('no Chromium here; ./dev test pages installs it')
    command = [BROWSER, '--no-sandbox', '--disable-gpu', f'--window-size={width},1200', '--virtual-time-budget=5000',
               '--dump-dom', address]
    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'<pre id="measured">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found.group(1)))
