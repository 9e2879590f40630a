"""The commands of `beliefd`: each module is one, and holds it under the module's own name."""
