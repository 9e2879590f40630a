"""Why a policy decides as it does: what deciding constraints read, and the smallest change that passes."""
