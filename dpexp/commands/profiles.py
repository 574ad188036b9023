"""The values of --profile."""

from __future__ import annotations

from dpexp.core.errors import UsageError

PROFILES = ("smoke", "paper")


def known_profile(profile: str) -> str:
    """The profile as it was given. Raises UsageError for an unknown one."""
    if profile not in PROFILES:
        raise UsageError(f"--profile is smoke or paper, not {profile!r}")
    return profile
