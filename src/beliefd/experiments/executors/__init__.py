"""Where blocks of replicates are drawn: here, in a pool of processes, or on a Ray cluster."""
