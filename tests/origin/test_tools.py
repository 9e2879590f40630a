"""What a tool does is read from its name where nothing is declared: wide vocabulary, each style, unknown = write."""

import pytest
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.origin import ToolInfo
from beliefd.kernel.origin.tools import trade
from beliefd.policy.lexicons import load_lexicon, shipped_lexicon

from tests.origin.support import LEXICON

READS = """search_repositories get_file_contents list_commits slack_get_channel_history read_multiple_files directory_tree
git_status git_diff query puppeteer_screenshot read_graph fetch brave_web_search maps_geocode get_current_time convert_time
retrieve_balance notion-search API-retrieve-a-page pods_list pods_log GetLiveContext get-products list_buckets users.list
mail.read calendar.events.list getBalance lookup_order track_package order_list getUserProfile describe_instances get_post
SearchFlights view_cart whoami current_weather inbox.search AugustSmartLockGetStatus SmartLockViewAccessHistory block_list
TwitterManagerSearchTweet check_lock_status mcp__jira__get_issue get_transfer_history""".split()
WRITES = """create_or_update_file=create push_files=create update_issue=update slack_post_message=send edit_file=update
slack_reply_to_thread=send git_commit=create git_reset=control puppeteer_click=control delete_entities=delete move_file=update
create_payment_link=pay create_refund=pay jira_transition_issue=update pods_exec=control helm_install=control
HassTurnOn=control send_sms=send TwilioMessagingV1--SendMessage=send invoke_lambda=control draft_email=draft
batch_delete_emails=delete create-event=create chat.postMessage=send transferFunds=pay book_hotel=reserve lock_door=control
share_document=share add_collaborator=share grant_access=share change_password=control run_sql=control find_and_delete=delete
list_create=create cancel_order=delete wire_transfer=pay checkout=pay check_out_cart=pay upload_file=create
forward_message=send issue_refund=pay users/delete=delete AugustSmartLockGrantGuestAccess=share frobnicate=other""".split()


@pytest.mark.parametrize("name", READS)
def test_names_of_tools_that_read(name: str) -> None:
    assert trade(ToolInfo(tool_id=name), LEXICON).reads


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


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(BeliefdError, match="there are en"):
        shipped_lexicon("xx")


def test_a_lexicon_of_the_operator_is_read_strictly(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "own.yaml"
    path.write_text("language: own\nverps: {}\n")
    with pytest.raises(BeliefdError):
        load_lexicon(path)
