"""The TypeScript client: types that a compiler accepts, and calls that a real server answers."""

import json
import subprocess
from pathlib import Path

from scripts.reference.typescript import FOLDER, files

from tests.conformance.node import node
from tests.support.npm import npm_package
from tests.support.server import server_process

TYPESCRIPT = ("typescript", "5.9.3")
USED = """
import { BeliefdError, Client, type ApprovalCard } from "%(client)s";

const client = new Client("http://127.0.0.1:1", { token: "t" });
const declared = await client.call("declare_session", { body: { hypotheses: ["a"], ontology: {
  hypothesis_space_id: "s", hypothesis_version: "1", causal_graph_ref: "g", causal_graph_version: "1" } } });
const left: number = declared.snapshot.n_survivors;
const path = { approval_id: "x" };
const card: ApprovalCard = await client.call("show_approval", { path, query: { wait: 30 } });
await client.call("list_approvals", { query: { tier: "DELETE" } });
await client.call("list_approvals");
// @ts-expect-error no such operation
await client.call("nonsense");
// @ts-expect-error a path needs its id
await client.call("show_approval");
// @ts-expect-error no such tier
await client.call("list_approvals", { query: { tier: "DESTROY" } });
// @ts-expect-error it is a number
const wrong: string = declared.snapshot.n_survivors;
console.log(left, card.tier, BeliefdError.name, wrong);
"""
RUN = """
import { BeliefdError, Client } from %(client)s;

const client = new Client(%(url)s);
const ontology = { hypothesis_space_id: "s", hypothesis_version: "1", causal_graph_ref: "g",
  causal_graph_version: "1" };
const { session_id } = await client.call("declare_session", { body: { hypotheses: ["a", "b"], ontology } });
const until = new AbortController();
const told = (async () => {
  for await (const one of client.follow("follow_inbox", { signal: until.signal })) return one;
})();
const claim = { statement: "delete it", claim_type: "DECISION", risk_tier: "DELETE",
  uncertainty: { method: "confidence_score", value: 0.2 } };
// A feed tells what comes after it began, which only it knows: say it until it is heard.
let news, submitted;
for (let at = 0; news === undefined; at += 1) {
  submitted = await client.call("submit_claims", { path: { session_id }, body: { claims: [{ ...claim,
    statement: `delete ${at}` }] } });
  news = await Promise.race([told, new Promise((go) => setTimeout(go, 500))]);
}
until.abort();
const card = await client.call("show_approval", { path: { approval_id: submitted.approval_id } });
const inbox = await client.call("list_approvals", { query: { tier: "DELETE", limit: 1 } });
const nowhere = { session_id: "../sessions" };
const bad = await client.call("query_belief", { path: nowhere }).catch((error) => error);
console.log(JSON.stringify({ event: news.event, tier: card.tier, listed: inbox.approvals.length,
  error: bad instanceof BeliefdError && [bad.status, bad.code] }));
"""


def test_the_files_that_are_checked_in_are_those_that_are_generated() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m scripts.reference`"


def test_a_compiler_accepts_what_fits_and_nothing_else(tmp_path: Path) -> None:
    compiler = npm_package(*TYPESCRIPT) / "node_modules" / "typescript" / "bin" / "tsc"
    used = tmp_path / "used.mts"
    used.write_text(USED % {"client": str(FOLDER / "client.mjs")})
    strict = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"]
    done = subprocess.run(
        [node(), str(compiler), *strict, str(used)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_node_talks_to_a_server(tmp_path: Path) -> None:
    with server_process(tmp_path) as server:
        values = {"client": json.dumps((FOLDER / "client.mjs").as_uri()), "url": json.dumps(server.url)}
        done = subprocess.run(
            [node(), "--input-type=module", "-e", RUN % values],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "event": "approval.pending",
        "tier": "DELETE",
        "listed": 1,
        "error": [404, "SESSION_NOT_FOUND"],
    }
