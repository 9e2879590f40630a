"""Language models behind one port: over HTTP, in this process, or scripted."""
