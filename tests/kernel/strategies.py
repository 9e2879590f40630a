"""The shipped strategies, under the name that these tests know."""

from beliefd.testing.strategies import *  # noqa: F403
