"""Calls whose name stands in words or in an element in front of their JSON arguments."""
