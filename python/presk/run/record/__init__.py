"""Recording: a Core program evaluated once over handles becomes a Schedule, the list of all it will ever do."""
