"""An agent of smolagents behind beliefd; it cannot wait, so the model makes an approved call again."""

from typing import Any

from scripted import Script, fetch_page, play, send_email, show
from smolagents import ChatMessage, MessageRole, Model, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from beliefd.adapters.smolagents import BeliefdAgent


class Scripted(Model):
    """The model."""

    def __init__(self, script: Script) -> None:
        super().__init__(model_id="scripted")
        self._script = script

    def generate(self, messages: Any, *_: Any, **__: Any) -> ChatMessage:
        heard = [one.content for one in messages if one.role == MessageRole.TOOL_RESPONSE]
        turn = self._script.turn([part["text"] for parts in heard for part in parts])
        name, args = turn.get("tool", "final_answer"), turn.get("args", {"answer": turn.get("say")})
        function = ChatMessageToolCallFunction(name=name, arguments=args)
        call = ChatMessageToolCall(id=f"call-{self._script.number}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


@tool
def fetch(name: str) -> str:
    """Fetch a page of the intranet.

    Args:
        name: which page
    """
    return str(fetch_page(name))


@tool
def mail(to: str, message: str) -> str:
    """Send an email.

    Args:
        to: whom
        message: the text
    """
    return str(send_email(to, message))


def main() -> None:
    script = Script()
    fetch.name, mail.name = "fetch_page", "send_email"
    # The ten lines.
    agent = BeliefdAgent(
        tools=[fetch, mail], model=Scripted(script), conversation="minutes", verbosity_level=0
    )
    text = str(agent.run(script.user))
    show("answer", agent.guard.conversation("minutes").gate_answer(text, uncertainty=0.05).text)


if __name__ == "__main__":
    play(main)
