"""A page in Chromium without a window: what it has become once its script has run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

_QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000")


def opened(folder: Path, text: str, *, script: str = "") -> str:
    """Return the document after its script, and then ``script``, has run.

    The policy of the page, which lets no other script run, is dropped for that.
    """
    if script:
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        text = text.replace("</body>", f"<script>{script}</script></body>")
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    assert CHROMIUM is not None
    command = [CHROMIUM, *_QUIET, profile, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return done.stdout
