"""The certificate in a real browser: offline, in both themes, on paper."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.browser import Browser, installed
from support.frames import protected

pytestmark = pytest.mark.slow


@pytest.fixture
def browser(tmp_path):
    return installed(tmp_path / "browser")


@pytest.fixture
def page(tmp_path):
    df = protected(epsilon=100, delta=1e-6)
    df.dp(epsilon=5).count()
    df.dp(epsilon=5).histogram("age", bins=range(0, 101, 10))
    df.dp(rho=1).groupby("city", keys=["x", "y", "z"]).agg(n=("age", "count"), m=("sex", "count"))
    path = tmp_path / "report.html"
    df.dp.session.report(path)
    return path


def colours(image: np.ndarray) -> tuple[int, int]:
    """How bright the commonest colour is, and how many others there are."""
    counts = np.bincount((image.astype(np.int64) @ (1, 256, 65536)).ravel())  # one number for each colour
    return max(int(counts.argmax()).to_bytes(3, "little")), int(np.count_nonzero(counts))


@pytest.mark.parametrize(("variable", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)])
def test_without_a_browser_the_whole_check_fails(monkeypatch, tmp_path, variable, outcome):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setenv("PANDAS_DP_BROWSER", variable)
    with pytest.raises(outcome, match="no Chromium is installed"):
        installed(tmp_path / "none")


def test_it_opens_offline_without_a_word_on_the_console(browser: Browser, page):
    text, console = browser.document(page)
    assert console == []
    assert text.count("<article") == 3
    assert text.count("<svg") == 3


def test_the_console_of_a_bad_page_is_heard(browser: Browser, tmp_path):
    """The twin of the test above: a script that the policy of the certificate forbids is told on the console."""
    bad = tmp_path / "bad.html"
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
    bad.write_text(f"<html><head>{policy}</head><body><script>1</script></body></html>")
    assert len(browser.document(bad)[1]) == 1


def test_it_is_light_or_dark_as_the_reader_wishes(browser: Browser, page):
    light, dark = browser.picture(page), browser.picture(page, dark=True)
    assert light.shape == dark.shape == (1400, 1000, 3)
    (bright, many), (dim, others) = colours(light), colours(dark)
    assert (bright > 240, dim < 40) == (True, True)
    assert min(many, others) > 100


def test_it_fits_a_narrow_screen(browser: Browser, page):
    """Nothing reaches the right margin of a window of 500 pixels, the narrowest that it opens."""
    image = browser.picture(page, width=500, height=6000)
    assert (image[:, -12:] == image[0, -1]).all()
    assert colours(image)[1] > 100


def test_it_prints(browser: Browser, page):
    paper = browser.paper(page)
    assert paper.startswith(b"%PDF-")
    sheets = len(re.findall(rb"/Type\s*/Page\b(?!s)", paper))
    assert 2 <= sheets <= 8
