"""No test fails because the machine is slow or busy: Hypothesis counts no seconds, neither of an example nor of making one."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
