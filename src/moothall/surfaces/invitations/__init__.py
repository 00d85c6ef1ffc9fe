"""What an invitation says: the settings of coding agents, links for browsers, and what an agent is told to do."""
