//! The Agent Client Protocol, from the side of whoever drives an agent.
