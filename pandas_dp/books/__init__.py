"""What a ledger shows people: its record as a table, what is spent and left, a card for notebooks, and the certificate."""
