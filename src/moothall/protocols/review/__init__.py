"""The review protocol: seats inspect a change blind, code merges what they find, and only what is disputed is argued about."""
