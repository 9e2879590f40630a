"""What a session is about that stands for one conversation of an agent, whoever opens it."""

from typing import Final

from beliefd.kernel.values import OntologyBundle

HYPOTHESES: Final = ("as_asked", "led_astray")
"""Does the agent do what it was asked to?"""
ONTOLOGY: Final = OntologyBundle(
    hypothesis_space_id="conversation",
    hypothesis_version="1",
    causal_graph_ref="conversation",
    causal_graph_version="1",
)


def conversation_key(*names: str) -> str:
    """The idempotency key that a conversation is opened under: whoever opens it again finds it."""
    return ":".join(("conversation", *names))
