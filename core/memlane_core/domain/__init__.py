"""Values and rules of the domain. Depends on nothing but the standard library."""
