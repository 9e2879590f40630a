"""The rows of claims, approvals, grants, evidence content and policy."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from beliefd.kernel.approvals import commands
from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Id
from beliefd.protocol import claim_answers as answers
from beliefd.protocol.operation import (
    MIB,
    ON_WRITING,
    OPERATORS,
    PROPOSERS,
    SESSION_PATH,
    Operation,
    Parameter,
)
from beliefd.protocol.submitted import SubmittedBundle

S: Final = SESSION_PATH
A: Final = "/v1/approvals/{approval_id}"
CURSOR: Final = Parameter(name="cursor", kind=Id, summary="`next` of the page before")
LIMIT: Final = Parameter(
    name="limit", kind=Annotated[int, Meta(ge=1, le=500)], default=50, summary="Items a page"
)
STATUSES = Literal[
    "pending",
    "approved",
    "rejected",
    "modified",
    "deferred",
    "timed_out",
    "withdrawn",
    "superseded",
    "information",
]

CLAIM_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="submit_claims",
        tag="claims",
        errors=ON_WRITING,
        method="POST",
        path=f"{S}/claims",
        body=SubmittedBundle,
        answer=answers.JudgedBundle,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Put a bundle of claims before the five gates",
    ),
    Operation(
        name="list_claims",
        tag="claims",
        method="GET",
        path=f"{S}/claims",
        answer=answers.BundlePage,
        query=(CURSOR, LIMIT),
        summary="The bundles of a session, by id",
    ),
    Operation(
        name="show_claims",
        tag="claims",
        errors=(Code.BUNDLE_NOT_FOUND,),
        method="GET",
        path=f"{S}/claims/{{bundle_id}}",
        answer=answers.JudgedBundle,
        summary="One bundle as it was last judged",
    ),
    Operation(
        name="check_claims",
        tag="claims",
        method="POST",
        path="/v1/claims/check",
        body=SubmittedBundle,
        answer=answers.JudgedBundle,
        summary="What the gates would say, without a session and without a record",
    ),
    Operation(
        name="list_approvals",
        tag="claims",
        method="GET",
        path="/v1/approvals",
        answer=answers.Inbox,
        query=(
            CURSOR,
            LIMIT,
            Parameter(name="status", kind=STATUSES, default="pending", summary="Only what is this"),
        ),
        summary="The inbox: what waits for a person, over all sessions",
    ),
    Operation(
        name="show_approval",
        tag="claims",
        errors=(Code.APPROVAL_NOT_FOUND,),
        method="GET",
        path=A,
        answer=answers.ApprovalCard,
        summary="One item of the inbox",
    ),
    Operation(
        name="decide_approval",
        tag="claims",
        errors=(Code.APPROVAL_NOT_FOUND, *ON_WRITING),
        method="POST",
        path=f"{A}/decision",
        body=commands.DecideApproval,
        answer=answers.DecidedApproval,
        if_match=True,
        idempotency_key=True,
        summary="Approve, reject or edit exactly what was looked at",
    ),
    Operation(
        name="withdraw_approval",
        tag="claims",
        errors=(Code.APPROVAL_NOT_FOUND, *ON_WRITING),
        method="POST",
        path=f"{A}/withdraw",
        body=commands.WithdrawApproval,
        answer=answers.ApprovalCard,
        if_match=True,
        idempotency_key=True,
        summary="Take back what one proposed",
    ),
    Operation(
        name="give_grant",
        tag="claims",
        errors=ON_WRITING,
        method="POST",
        path=f"{S}/grants",
        body=commands.GiveGrant,
        answer=answers.GrantAnswer,
        status=201,
        if_match=True,
        idempotency_key=True,
        summary="Consent in advance, up to MODIFY",
    ),
    Operation(
        name="list_grants",
        tag="claims",
        method="GET",
        path=f"{S}/grants",
        answer=answers.Grants,
        summary="Standing grants",
    ),
    Operation(
        name="revoke_grant",
        tag="claims",
        errors=(Code.NOT_FOUND, *ON_WRITING),
        method="DELETE",
        path=f"{S}/grants/{{grant_id}}",
        answer=answers.GrantAnswer,
        if_match=True,
        idempotency_key=True,
        summary="End a standing grant at once",
    ),
    Operation(
        name="store_content",
        tag="claims",
        method="POST",
        path="/v1/content",
        answer=answers.StoredContent,
        status=201,
        body_media="application/octet-stream",
        max_body=16 * MIB,
        roles=PROPOSERS,
        summary="Keep evidence content under its SHA-256, so that gates can hash it again",
    ),
    Operation(
        name="show_policy",
        tag="policy",
        method="GET",
        path="/v1/policy",
        answer=answers.PolicyAnswer,
        summary="The policy in force and its hash",
    ),
    Operation(
        name="adopt_policy",
        tag="policy",
        method="PUT",
        path="/v1/policy",
        body=Policy,
        answer=answers.PolicyAnswer,
        roles=OPERATORS,
        summary="Decide under another policy from now on",
    ),
)
