"""No test fails because the machine is slow or busy: Hypothesis counts no seconds, neither of an example nor of making one.

What is remembered of ledgers goes to a folder of the tests, not of who runs them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
