"""The search for speculation in disguise, in any document and any encoding."""
