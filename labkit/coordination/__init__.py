"""Who may act: approvals by people."""
