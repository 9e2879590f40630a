"""Scripts in the small languages that stand inside commands: `sed` and `awk`."""

import re
from typing import Final

_SED_ADDRESS: Final = re.compile(r"\d+(~\d+)?|\$")
_SED_SECOND: Final = re.compile(r"[+~]?\d+|\$")
_SED_PLAIN: Final = re.compile(r"[pdqQ=lnNgGhHxDPFz]")
_SED_FLAGS: Final = re.compile(r"[gpiImM0-9]*")
_SED_END: Final = re.compile(r"[ \t]*(?:[;\n}]|$)")
_SED_BETWEEN: Final = re.compile(r"[\s;{}]*")


class _Refused(Exception):
    """Something that is not known to be harmless."""


def sed_only_prints(script: str) -> bool:
    """Is every command of it one that neither writes a file (`w`) nor runs a program (`e`)?"""
    at = 0
    try:
        while (at := _skip(_SED_BETWEEN, script, at)) < len(script):
            at = _sed_command(script, at)
    except (_Refused, IndexError):
        return False
    return True


def _skip(pattern: re.Pattern[str], script: str, at: int) -> int:
    found = pattern.match(script, at)
    return at if found is None else found.end()


def _sed_command(script: str, at: int) -> int:
    at = _sed_addresses(script, at)
    letter = script[at]
    if letter in "sy":
        at = _sed_part(script, at + 2, script[at + 1])
        at = _sed_part(script, at, script[at - 1])
        if letter == "s":
            at = _skip(_SED_FLAGS, script, at)
    elif _SED_PLAIN.match(letter):
        at += 1
    elif letter in "{":
        return at + 1
    else:
        raise _Refused
    if not _SED_END.match(script, at):
        raise _Refused
    return at


def _sed_addresses(script: str, at: int) -> int:
    first = _sed_address(script, at, _SED_ADDRESS)
    if first != at and script[first : first + 1] == ",":
        second = _sed_address(script, first + 1, _SED_SECOND)
        if second == first + 1:
            raise _Refused
        first = second
    return _skip(re.compile(r"[ \t]*!?[ \t]*"), script, first)


def _sed_address(script: str, at: int, numbers: re.Pattern[str]) -> int:
    if script[at : at + 1] == "/":
        at = _sed_part(script, at + 1, "/")
        return _skip(re.compile(r"[IM]*"), script, at)
    return _skip(numbers, script, at)


def _sed_part(script: str, at: int, mark: str) -> int:
    """To right after the next `mark`. Where a bracket is open there, versions of sed differ: refused."""
    if mark in "\\\n" or mark.isalnum():
        raise _Refused
    start = at
    while script[at] != mark:
        if script[at] == "\n":
            raise _Refused
        at += 2 if script[at] == "\\" else 1
    part = script[start:at]
    if part.count("[") != part.count("]"):
        raise _Refused
    return at + 1


_AWK_REFUSED: Final = re.compile(r"system|getline|close|ARGV|fflush|@|\\\n|/inet|(?<!\|)\|(?!\|)|\|&")


def awk_only_prints(script: str) -> bool:
    """Does it run nothing and redirect nothing? A `>` where there is a `print` may be a file."""
    if _AWK_REFUSED.search(script) or "|||" in script:
        return False
    return ">" not in script or "print" not in script
