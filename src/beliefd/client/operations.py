"""All operations as methods, whoever sends their requests."""

from beliefd.client.beliefs import BeliefCalls
from beliefd.client.claims import ClaimCalls
from beliefd.client.experiments import ExperimentCalls
from beliefd.client.ledger import LedgerCalls
from beliefd.client.substrate import SubstrateCalls
from beliefd.client.uncertainty import UncertaintyCalls


class Operations(BeliefCalls, LedgerCalls, ClaimCalls, SubstrateCalls, ExperimentCalls, UncertaintyCalls):
    """One method per operation; taken from this class, it makes a request and sends nothing."""
