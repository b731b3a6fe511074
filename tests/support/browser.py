"""Headless Chromium on one page of a file, without a network: its console, its document, pictures and paper.

Where none is installed, a test that asks for one is skipped, unless the variable PANDAS_DP_BROWSER says ``required``, as the
whole check does: then it fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image  # comes with matplotlib

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"
SECONDS = 120  # a busy machine is no failure


class Browser:
    """One program; each call starts it anew with an empty profile."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder, self.calls = program, folder, 0

    def run(self, page: Path, *options: str, dark: bool = False) -> tuple[str, list[str]]:
        """Open a page; return what the program printed and what the page said on its console."""
        self.calls += 1
        profile = self.folder / f"profile-{self.calls}"
        theme = DARK if dark else LIGHT
        logging = ("--enable-logging=stderr", f"--user-data-dir={profile}")
        command = [self.program, *QUIET, OFFLINE, theme, *logging, *options, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def document(self, page: Path, dark: bool = False) -> tuple[str, list[str]]:
        """The document as the browser understood it, and its console."""
        return self.run(page, "--dump-dom", dark=dark)

    def picture(self, page: Path, dark: bool = False, width: int = 1000, height: int = 1400) -> np.ndarray:
        """A picture, shape (height, width, 3)."""
        shot = self.folder / f"{page.stem}-{'dark' if dark else 'light'}.png"
        self.run(page, f"--screenshot={shot}", f"--window-size={width},{height}", dark=dark)
        with Image.open(shot) as image:
            return np.asarray(image.convert("RGB"))

    def paper(self, page: Path) -> bytes:
        """The page as printed, in PDF."""
        printed = self.folder / f"{page.stem}.pdf"
        self.run(page, "--no-pdf-header-footer", f"--print-to-pdf={printed}")
        return printed.read_bytes()


def installed(folder: Path) -> Browser:
    """The browser of this machine, with a new folder for what it writes; see the module's notes where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing = "no Chromium is installed: .ci/browser installs it"
        if os.environ.get("PANDAS_DP_BROWSER") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    folder.mkdir()
    return Browser(found, folder)
