"""The trusted core: units, sensitivities, mechanisms, the ledger and the one door between exact data and releases."""
