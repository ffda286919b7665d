"""Real engines behind the engine profile: declared deviations, the search for defects, and the page of findings."""
