"""Houses with tools, as the substrate's tests have them."""

from tests.substrate.conftest import build, house

__all__ = ["build", "house"]
