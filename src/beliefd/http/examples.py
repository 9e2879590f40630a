"""A body for every operation that takes one. They work when sent in this order, and a test sends them."""

from typing import Any, Final

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
    "request_termination": {"context": {"ticket": "INC-2041"}},
    "merge": "<the lines of an exported replica of this session>\n",
    "import_ledger": "<the lines of an exported ledger>\n",
}
