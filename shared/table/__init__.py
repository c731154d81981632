"""A table as pure functions: what may happen (`decide`), what it does (`evolve`), what is waited
for (`next_step`) and what each viewer sees (`view`). The table service plays it; the audit plays it
again."""
