"""Why a policy decides as it does: what the deciding constraints read, and the smallest change that passes."""
