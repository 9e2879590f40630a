"""A body for every operation that takes one. They work when sent in this order, and a test sends them.

What stands in <angle brackets> is only known when the time has come.
"""

from typing import Any, Final

CLAIMS: Final[dict[str, Any]] = {
    "origin_agent": "agent://triage",
    "claims": [
        {
            "statement": "terminate the 163 sessions that sit idle inside a transaction",
            "claim_type": "DECISION",
            "uncertainty": {"method": "confidence_score", "value": 0.12},
            "risk_tier": "DELETE",
            "if_wrong_cost": "work in progress of up to 163 customers is lost",
        }
    ],
}

EXAMPLES: Final[dict[str, Any]] = {
    "declare_session": {
        "ontology": {
            "hypothesis_space_id": "sre/checkout-latency",
            "hypothesis_version": "3",
            "causal_graph_ref": "graphstore://postgres-repl",
            "causal_graph_version": "v17",
        },
        "hypotheses": ["bad_deploy", "db_connection_exhaustion", "disk_full", "replication_lag"],
        "metadata": {"incident": "INC-2041"},
    },
    "enter_obligation": {"obligation_id": "look-before-you-leap", "min_total_eliminations": 2},
    "eliminate": {
        "source_id": "adapter://sre",
        "observation_id": "df-14:02",
        "eliminated": ["disk_full"],
        "justification": {"probe": "df", "used": 0.41},
    },
    "batch": (
        '{"verb":"ELIMINATE","source_id":"adapter://sre","observation_id":"pg-14:03",'
        '"eliminated":["replication_lag"],"justification":{"lag_ms":3}}\n'
        '{"verb":"ELIMINATE","source_id":"human://ana","observation_id":"deploy-log",'
        '"eliminated":["bad_deploy"],"justification":{"last_deploy":"2 days ago"}}\n'
    ),
    "request_exit": {"context": {"asked_by": "triage"}},
    "declare_conclusion": {"conclusion_id": "db_connection_exhaustion"},
    "counterfactual": {"without": {"source_ids": ["human://ana"]}},
    "store_content": "pg_stat_activity: 163 of 200 connections are idle in transaction\n",
    "check_claims": CLAIMS,
    "submit_claims": CLAIMS,
    "decide_approval": {
        "decision": "APPROVED",
        "content_hash": "<content_hash of the item in the inbox>",
        "reason": "customers were told",
    },
    "withdraw_approval": {"reason": "the pool has recovered by itself"},
    "give_grant": {
        "principal": "agent://triage",
        "tiers": ["MODIFY"],
        "expires_in_seconds": 3600,
        "max_uses": 10,
    },
    "adopt_policy": {"uncertainty": {"explain_above": 0.4, "defer_above": 0.7}},
    "measure_semantic_entropy": {"answers": ["Paris", "It is Paris", "Lyon"], "judge": "lexical"},
    "measure_model_disagreement": {"answers": ["yes", "no", "maybe"]},
    "measure_confidence": {"token_logprobs": [-0.02, -0.4, -0.11]},
    "measure_conformal_set": {
        "probabilities": [0.7, 0.2, 0.1],
        "labels": ["bad_deploy", "disk_full", "replication_lag"],
        "alpha": 0.2,
        "calibration": {
            "probabilities": [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [0.4, 0.5, 0.1]],
            "labels": [0, 1, 2, 0],
        },
    },
    "store_calibration": {
        "model": "classifier-7",
        "probabilities": [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [0.4, 0.5, 0.1]],
        "labels": [0, 1, 2, 0],
    },
    "append_calibration": {"probabilities": [[0.6, 0.3, 0.1]], "labels": [0]},
    "issue_capability": {
        "session_id": "<the session>",
        "agent_id": "agent://triage",
        "scope": {"tools": ["pool.idle_sessions"], "budgets": {"calls": 5}},
        "expires_in_seconds": 600,
    },
    "propose": {
        "provenance": {"source": "agent"},
        "candidates": [
            {"kind": "delta", "patch": {"set": {"goal.next_action": {"v": 1, "kind": "probe"}}}},
            {
                "kind": "tool_call",
                "tool_id": "pool.idle_sessions",
                "args": {},
                "capability_token": "<the token as it was issued>",
            },
        ],
    },
    "remember": {
        "memory_id": "pool-is-shared",
        "kind": "hypothesis",
        "value": "checkout and search share one pool",
        "confidence": 0.6,
        "ttl_ms": 86400000,
    },
    "speculate": {
        "claim_id": "pool-wait-is-40ms",
        "hypotheses": [
            {
                "statement": "a slow query holds connections longer than usual",
                "mechanism": "lock wait on the orders table",
                "prediction": "waits grow with the age of the longest transaction",
                "confidence": 0.3,
            }
        ],
    },
    "design_experiment": {
        "claim": {
            "claim_id": "pool-wait-is-40ms",
            "claimed_value": 40.0,
            "observed_values": [39.2, 41.0, 40.4, 38.9, 40.1, 39.7, 40.8, 39.5, 40.2, 40.6, 39.9, 40.3],
            "tolerance": 2.0,
            "unit": "ms",
            "seed": 7,
        }
    },
    "run_experiment": {"wait": True},
    "reproduce_experiment": {},
    "link_evidence": {"claim_id": "pool-wait-is-40ms", "run_id": "<the run>", "role": "support"},
    "stage_intent": {
        "type": "create_proposition",
        "claim_id": "pool-wait-is-40ms",
        "statement": "a checkout waits 40 ms for a connection, give or take 2",
    },
    "request_termination": {"context": {"ticket": "INC-2041"}},
    "merge": "<the lines of an exported replica of this session>\n",
    "import_ledger": "<the lines of an exported ledger>\n",
}
