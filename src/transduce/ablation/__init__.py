"""The paper's Table 3 at any scale: the base model with one part changed at a time, trained alike (section 6.2)."""
