"""Web pages: addresses that are safe to keep, and the policy for browsing."""
