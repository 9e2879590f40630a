"""What checkpoints and proofs show to somebody who trusts nobody but the holders of a few public keys.

Each check names what is wrong by a code: a forged checkpoint, a proof that is for something else, two
checkpoints of different histories, a log that knows less than it has signed.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.merkle import BadProof, OtherRoot, leaf_hash, verify_consistency, verify_inclusion
from beliefd.ledger.notes import BadNote, Checkpoint, Note, VerifierKey, read_checkpoint, read_note, signers
from beliefd.ledger.transfer import Exported, Proof

_HASH: Final = re.compile(r"[0-9a-f]{64}")


class Trust(Struct, frozen=True):
    """Whose word counts: any of the log's `keys`, and every one of the `witnesses`."""

    keys: tuple[VerifierKey, ...]
    witnesses: tuple[VerifierKey, ...] = ()


def trusted(note: Note, trust: Trust) -> Checkpoint:
    """What a checkpoint says, if a key of the log has signed it, and all witnesses that are required have."""
    try:
        checkpoint = read_checkpoint(note)
        by = signers(note, (*trust.keys, *trust.witnesses))
    except BadNote as error:
        raise BeliefdError(Code.CHECKPOINT_FORGED, str(error)) from None
    if not any(key in by and key.name == checkpoint.origin for key in trust.keys):
        named = ", ".join(f"`{line.name}+{line.key_id.hex()}`" for line in note.signatures[:5])
        text = f"no trusted key of `{checkpoint.origin[:64]}` has signed it; it is signed by {named}"
        raise BeliefdError(Code.CHECKPOINT_FORGED, text)
    if missing := [key for key in trust.witnesses if key not in by]:
        names = ", ".join(f"`{key.name}`" for key in missing)
        text = f"the checkpoint of size {checkpoint.size} is not cosigned by {names}"
        raise BeliefdError(Code.WITNESS_MISSING, text, {"missing": [str(key) for key in missing]})
    return checkpoint


def trusted_text(text: str | bytes, trust: Trust) -> Checkpoint:
    try:
        return trusted(read_note(text), trust)
    except BadNote as error:
        raise BeliefdError(Code.CHECKPOINT_FORGED, str(error)) from None


def refuse_other_history(earlier: Checkpoint, later: Checkpoint, path: Sequence[bytes]) -> None:
    """Raise unless the proof shows that the later checkpoint keeps all that the earlier one has."""
    if earlier.origin != later.origin:
        text = f"they are of two logs, `{earlier.origin[:64]}` and `{later.origin[:64]}`"
        raise BeliefdError(Code.PROOF_INVALID, text)
    refuse_smaller(earlier, later.size)
    if earlier.size == later.size:
        refuse_split(earlier, later)
    try:
        verify_consistency(earlier.size, later.size, earlier.root, later.root, path)
    except OtherRoot:
        text = (
            f"the log of size {later.size} does not begin with the one of size {earlier.size}: some of it"
            " was changed or removed, or each was shown to somebody else"
        )
        raise BeliefdError(Code.SPLIT_VIEW, text, _sizes(earlier, later)) from None
    except BadProof as error:
        text = f"it is no proof from size {earlier.size} to {later.size}: {error}"
        raise BeliefdError(Code.PROOF_INVALID, text, _sizes(earlier, later)) from None


def refuse_split(one: Checkpoint, other: Checkpoint) -> None:
    """Two checkpoints of one size are one, or show that the log has two faces."""
    if one.size == other.size and one.root != other.root:
        text = f"there are two checkpoints of size {one.size} with different roots"
        roots = {"size": one.size, "roots": [one.root.hex(), other.root.hex()]}
        raise BeliefdError(Code.SPLIT_VIEW, text, roots)


def refuse_smaller(kept: Checkpoint, size: int) -> None:
    if size < kept.size:
        text = (
            f"the log has {size} leaves, and had {kept.size} when this checkpoint was signed:"
            " its store was put back to an earlier state, or is another one"
        )
        raise BeliefdError(Code.LOG_ROLLED_BACK, text, {"size": size, "signed": kept.size})


def _sizes(earlier: Checkpoint, later: Checkpoint) -> dict[str, int]:
    return {"from": earlier.size, "to": later.size}


def refuse_not_included(
    event_hash: str, index: int, size: int, path: Sequence[bytes], checkpoint: Checkpoint
) -> None:
    """Raise unless the proof shows that the event with this hash is a leaf of the log of the checkpoint."""
    if size != checkpoint.size:
        text = f"the proof is for a log of size {size}, and the checkpoint is of size {checkpoint.size}"
        raise BeliefdError(Code.PROOF_INVALID, text, {"size": size, "checkpoint": checkpoint.size})
    try:
        verify_inclusion(leaf_hash(bytes.fromhex(event_hash)), index, size, path, checkpoint.root)
    except ValueError as error:
        text = f"it does not show that the event is leaf {index} of {size}: {error}"
        raise BeliefdError(Code.PROOF_INVALID, text) from None


def refuse_wrong_proof(proof: Proof, exported: Exported, checkpoint: Checkpoint) -> None:
    """Raise unless the proof is about an event of this ledger, and shows that the checkpoint covers it.

    The chain of the ledger must have been verified: an event stands for all those before it. Which event of a
    session was its last, no proof shows: a ledger that ends earlier, with a proof for its end, is right, too.
    """
    if proof.session_id != exported.header.session_id:
        raise BeliefdError(Code.PROOF_INVALID, f"the proof is about session `{proof.session_id[:64]}`")
    if not 0 < proof.seq <= len(exported.entries):
        text = f"the proof is about event {proof.seq}, which is not in the ledger"
        raise BeliefdError(Code.PROOF_INVALID, text)
    entry = exported.entries[proof.seq - 1]
    if (entry.event_id, entry.hash) != (proof.event_id, proof.hash):
        text = f"event {proof.seq} of the ledger is not the one that the proof is about"
        raise BeliefdError(Code.PROOF_INVALID, text)
    refuse_not_included(entry.hash, proof.index, proof.size, hashes_in(proof.path), checkpoint)


def hashes_in(path: Sequence[str]) -> list[bytes]:
    """INVARIANT: one text per hash. `fromhex` alone takes capitals and spaces; other verifiers do not."""
    for place, one in enumerate(path):
        if not _HASH.fullmatch(one):
            text = f"`{one[:80]}` is no hash of a proof: it has 64 digits of `0-9a-f`"
            raise BeliefdError(Code.PROOF_INVALID, text, {"path": f"$.path[{place}]"})
    return [bytes.fromhex(one) for one in path]
