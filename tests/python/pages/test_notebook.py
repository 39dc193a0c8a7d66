"""The notebook of examples/, run in a kernel, and what its cells show in a browser."""

import pathlib

import nbclient
import nbformat

from browser import opened

NOTEBOOK = pathlib.Path(__file__).parents[3] / 'examples/notebook/first_model.ipynb'


def test_the_notebook_runs_and_shows_pages(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get('outputs') for cell in notebook.cells)  # as it is committed
    nbclient.NotebookClient(notebook, timeout=300, kernel_name='python3').execute()
    shown = [output.data for cell in notebook.cells for output in cell.get('outputs', ()) if 'data' in output]
    pages = [data['text/html'] for data in shown if 'text/html' in data]
    assert len(pages) == 2  # the module and the profile
    for page in pages:
        seen = opened(page, tmp_path)
        assert seen['errors'] == [] and seen['fetched'] == [] and seen['width'] <= 800 and seen['clipped'] == []
        assert 'packed gemm' in seen['text']
    assert any('calls,' in data['text/plain'] and 'replayed' in data['text/plain'] for data in shown)
