"""The pages. Each view reads the visitor's fields, calls the API and shows the answer."""
