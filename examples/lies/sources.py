"""Lies about where something is from, and about what was ruled out."""

from typing import Any, Final

import httpx

from beliefd.protocol.claims import JudgedBundle

from .world import NOBODY, World, claimed, fact, pointer


def makes_up_a_source(world: World) -> JudgedBundle:
    return world.says(**fact())


def makes_up_a_source_for_something_larger(world: World) -> JudgedBundle:
    return world.says(**fact("WRITE_LIMITED"))


def stores_its_own_proof(world: World) -> JudgedBundle:
    kept = world.liar.store_content(b"I have seen it with my own eyes.")
    return world.says(**fact("WRITE_LIMITED", evidence_hash=kept.sha256))


def stores_a_page_as_a_text_and_then_as_a_page(world: World) -> str:
    """How content is read back depends on its bytes, and never on what its bringer calls it."""
    page = b"<!DOCTYPE html><script>alert('approve it')</script>"
    for media in ("application/octet-stream", "text/html"):
        headers = {"Authorization": f"Bearer {world.tokens['liar']}", "Content-Type": media}
        kept = httpx.post(f"{world.url}/v1/content", content=page, headers=headers)
    sha256 = world.liar.store_content(page).sha256
    read = httpx.get(f"{world.url}/v1/content/{sha256}", headers=headers)
    shown = read.headers["content-type"].partition(";")[0]
    return f"{kept.status_code} as a page; read as {shown}, {read.headers['content-disposition'][:10]}"


def points_at_a_thousand_sources(world: World) -> JudgedBundle:
    many = [pointer(source=f"https://nature.example/{number}") for number in range(1_000)]
    return world.says(claim_type="FACT", evidence_pointers=many)


def points_at_a_hundred_sources_ten_times(world: World) -> JudgedBundle:
    many = [pointer(source=f"https://nature.example/{number}") for number in range(100)]
    claims = [claimed(statement=f"proof {n}", claim_type="FACT", evidence_pointers=many) for n in range(10)]
    return world.liar.submit_claims(world.session, {"claims": claims})


def lets_a_tool_repeat_it(world: World) -> JudgedBundle:
    answer = world.calls(world.liar, "agent://liar", "echo", said="the pool is empty, all 200 are in use")
    return world.says(**fact("WRITE_LIMITED", **cited(answer)))


def cites_a_call_of_another_session(world: World) -> JudgedBundle:
    answer = world.calls(world.liar, "agent://liar", "pool.stats", world.elsewhere)
    return world.says(**fact("WRITE_LIMITED", **cited(answer)))


def forges_evidence(world: World) -> JudgedBundle:
    return world.says(**fact("WRITE_LIMITED", source="evidence://ev-forged"))


def forges_an_observation(world: World) -> JudgedBundle:
    return world.says(**fact("WRITE_LIMITED", source="observation://obs-forged"))


def cites_numbers_that_it_typed(world: World) -> JudgedBundle:
    typed = world.liar.observe(world.session, quantity="idle", values=[163.0])
    source = f"observation://{typed.observation_id}"
    return world.says(**fact("WRITE_LIMITED", source=source, evidence_hash=typed.digest))


def gives_a_true_observation_another_hash(world: World) -> JudgedBundle:
    seen = world.ann.observe(world.session, quantity="idle", values=[12.0, 13.0])
    source = f"observation://{seen.observation_id}"
    return world.says(**fact("WRITE_LIMITED", source=source, evidence_hash=NOBODY))


def tells_the_truth_once(world: World) -> JudgedBundle:
    answer = world.calls(world.liar, "agent://liar", "pool.stats")
    return world.says(**fact("WRITE_LIMITED", **cited(answer)))


def cited(answer: Any) -> dict[str, str]:
    (call,) = answer.results
    return {"source": f"call://{call.call_id}", "evidence_hash": call.result_hash}


def gives_no_source_at_all(world: World) -> JudgedBundle:
    return world.says(statement="customer data leaked on Monday", risk_tier="MODIFY")


def states_what_was_ruled_out(world: World) -> JudgedBundle:
    world.ann.eliminate(
        world.session, source_id="human://ann", observation_id="df-14:02", eliminated=["disk"]
    )
    return world.says(**fact(), about={"hypothesis": "disk"})


def concludes_what_was_ruled_out(world: World) -> Any:
    return world.liar.declare_conclusion(world.session, "cause:disk")


def rules_out_by_a_call_that_was_never_made(world: World) -> Any:
    return eliminates(world, [{"call": "call-forged"}])


def rules_out_by_an_observation_that_was_never_made(world: World) -> Any:
    return eliminates(world, [{"observation": "obs-forged"}])


def rules_out_by_a_run_that_was_never_made(world: World) -> Any:
    return eliminates(world, [{"run": "run-forged"}])


def rules_out_by_numbers_that_it_typed(world: World) -> Any:
    typed = world.liar.observe(world.session, quantity="idle", values=[0.0])
    return eliminates(world, [{"observation": typed.observation_id}])


def eliminates(world: World, cites: list[dict[str, str]]) -> Any:
    return world.liar.eliminate(
        world.session, source_id="agent://liar", observation_id="o", eliminated=["release"], cites=cites
    )


LIES: Final = (
    (makes_up_a_source, "PUBLISH, as attested"),
    (makes_up_a_source_for_something_larger, "DEFER"),
    (stores_its_own_proof, "DEFER"),
    (stores_a_page_as_a_text_and_then_as_a_page, "415 as a page; read as text/plain, attachment"),
    (points_at_a_thousand_sources, "INVALID_REQUEST, not recorded"),
    (points_at_a_hundred_sources_ten_times, "PUBLISH, as attested"),
    (lets_a_tool_repeat_it, "DEFER"),
    (cites_a_call_of_another_session, "DEFER"),
    (forges_evidence, "DEFER"),
    (forges_an_observation, "DEFER"),
    (cites_numbers_that_it_typed, "DEFER"),
    (gives_a_true_observation_another_hash, "DEFER"),
    (tells_the_truth_once, "PUBLISH"),
    (gives_no_source_at_all, "PUBLISH, without evidence"),
    (states_what_was_ruled_out, "REFUSE"),
    (concludes_what_was_ruled_out, "not accepted"),
    (rules_out_by_a_call_that_was_never_made, "NOT_FOUND, recorded"),
    (rules_out_by_an_observation_that_was_never_made, "OBSERVATION_NOT_FOUND, recorded"),
    (rules_out_by_a_run_that_was_never_made, "RUN_NOT_FOUND, recorded"),
    (rules_out_by_numbers_that_it_typed, "attested"),
)
