"""The ledger of claims: judged, kept, compared with what they come from, and shown."""
