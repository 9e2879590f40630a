"""Tests against a live TypeDB are there when its address is: `TYPEDB_ADDRESS=typedb://admin@127.0.0.1/b`."""

import os

collect_ignore = [] if "TYPEDB_ADDRESS" in os.environ else ["test_typedb_live.py"]
