"""Recipes: published results and demonstrations as configs."""
