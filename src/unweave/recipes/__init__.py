"""Recipes: published figures and tables, and a demonstration, as runs to train and pictures to draw."""
