"""The models of the article and the paper, trained alike, and what each of them turns out to be able to do."""
