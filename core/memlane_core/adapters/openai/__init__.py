"""Extraction, decision and chat by a model behind an OpenAI-compatible chat-completions endpoint."""
