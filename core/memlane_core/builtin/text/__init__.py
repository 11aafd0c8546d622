"""Reading short Chinese and English sentences without a model: folding, numbers, dates, negation, clauses.

Nothing here keeps a text after the call: no cache, no log.
"""
