"""The patterns that texts of strangers are held to, and what a person is told when one does not fit.

`$` alone would let a trailing newline pass in Python, hence the look-ahead.
"""

from typing import Final

# Control characters, line separators and C1 codes are refused so that an id is one visible line everywhere.
ID: Final = "^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]+$(?!\\n)"
# MD5 to SHA-512: other digests than SHA-256 are taken with a caveat, anything else is not a digest.
DIGEST: Final = "^[0-9a-fA-F]+$(?!\\n)"
SHA256: Final = "^[0-9a-f]{64}$(?!\\n)"
HINTS_DIGEST: Final = "^([0-9a-f]{16})?$(?!\\n)"
TIMESTAMP: Final = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$(?!\\n)"
)
REFERENCE: Final = "^[A-Za-z0-9][A-Za-z0-9._:/@#-]{0,127}$(?!\\n)"
INPUT_NAME: Final = "^[a-z][a-z0-9_]{0,7}$(?!\\n)"
UNIT: Final = "^(1|[A-Za-z%°µ$€][A-Za-z0-9%°µ/*^.-]{0,15})$(?!\\n)"
# An upstream is part of the id of a session, before the name of a space.
UPSTREAM: Final = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\\n)"
# Lower case only: a space goes by one name, in texts, addresses and options alike.
SPACE: Final = "^[a-z0-9][a-z0-9._-]{0,63}$(?!\\n)"

POINTER: Final = "^(/([^~/\\x00-\\x1f\\x7f]|~[01])*)*$(?!\\n)"

IN_WORDS: Final = {
    ID: "on one line, without control characters",
    DIGEST: "of hexadecimal digits",
    SHA256: "of 64 lower-case hexadecimal digits",
    HINTS_DIGEST: "of 16 lower-case hexadecimal digits, or an empty one",
    TIMESTAMP: "that is an ISO-8601 time with `Z` or an offset",
    REFERENCE: "of at most 128 letters, digits and `._:/@#-`",
    INPUT_NAME: "of at most 8 lower-case letters, digits and `_`, a letter first",
    UPSTREAM: "of at most 64 letters, digits and `._-`",
    SPACE: "of at most 64 lower-case letters, digits and `._-`",
    POINTER: "that is a JSON pointer: empty, or `/` before every step",
    UNIT: "that is a unit: `1`, or at most 16 letters, digits and `%°µ/*^.-`",
}
