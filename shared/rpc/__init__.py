"""How services speak gRPC: who may call what, how refusals look, how a server drains."""
