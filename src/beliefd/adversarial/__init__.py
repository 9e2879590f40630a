"""The built-in detector of the adversarial gate, and the honest measurement of it (claim-bundle: gates)."""

from beliefd.adversarial.builtin import DETECTOR, assess

__all__ = ["DETECTOR", "assess"]
