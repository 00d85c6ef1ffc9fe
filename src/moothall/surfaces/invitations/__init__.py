"""What an invitation says: the settings of coding agents, links for browsers, and the instructions of an agent."""
