"""Why policies decide as they do, and policies that are looked over."""
