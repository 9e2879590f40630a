"""The only writer: looks up facts, asks the kernel, appends, and answers."""
