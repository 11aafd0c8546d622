"""The operator's page in a browser: memories and their history, audit, erasure. Every action is a call of the API.

Nothing is imported here: the settings know `console.settings`, and the rest is loaded only where it is switched on.
"""
