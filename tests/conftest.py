"""Property tests run on whatever machine there is: slowness is no failure (speed lives in bench/)."""

from hypothesis import HealthCheck, settings

settings.register_profile("host", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("host")
