"""Where packed weights may move to."""

import os
import subprocess


def has_disk():
    """Whether packed weights can move to a temporary file here."""
    found = subprocess.run(['stat', '--file-system', '--format=%T', os.environ.get('TMPDIR', '/var/tmp')],
                           capture_output=True, text=True, check=False).stdout.strip()
    return found not in ('', 'tmpfs', 'ramfs', 'nfs', 'fuseblk', 'fuse', 'cifs', 'smb2', 'v9fs', 'ceph')
