"""Measuring the parts of the service on labelled cases, through the same code that serves."""
