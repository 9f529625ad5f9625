"""Effects: the key, the ledger, the four policies, the recovery decision, reconciliation and compensation."""
