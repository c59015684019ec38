"""Explanations of failures: the words of errors, found when a call has failed. Nothing here runs before that."""
