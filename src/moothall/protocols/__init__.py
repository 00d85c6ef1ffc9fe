"""The protocols, one package each; no protocol imports another."""
