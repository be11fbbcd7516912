"""Several ways to ask "the same person in another group", side by side; each one keeps the oracle's contract.

They are no oracles to scan with: their other person is not the domain's twin, which is what a finding shows and replays.
"""
