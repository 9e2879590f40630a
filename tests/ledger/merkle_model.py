"""The tree of RFC 6962, section 2.1, word by word on lists of leaves: slow, and nothing of ours in it."""

import hashlib


def sha(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def power_below(count: int) -> int:
    power = 1
    while power * 2 < count:
        power *= 2
    return power


def mth(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return sha(b"\x00", leaves[0]) if leaves else sha()
    k = power_below(len(leaves))
    return sha(b"\x01", mth(leaves[:k]), mth(leaves[k:]))


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = power_below(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def subproof(m: int, leaves: list[bytes], whole: bool) -> list[bytes]:
    if m == len(leaves):
        return [] if whole else [mth(leaves)]
    k = power_below(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], whole), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], False), mth(leaves[:k])]
