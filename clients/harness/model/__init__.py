"""A scripted model on loopback that speaks the APIs of the clients: the server, and one module per API."""

from clients.harness.model.server import Conversation, Model

__all__ = ["Conversation", "Model"]
