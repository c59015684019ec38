"""Passes over graphs: shapes of all values, programs in parts."""
