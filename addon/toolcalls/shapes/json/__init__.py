"""Calls written as JSON: an object in tags, an array or objects behind a mark, JSON in the open."""
