"""Words in every language: a folder for each language, a TOML file for each catalogue.

Copy `en/` to the code of another language and translate what you like: no code names a language (docs/translating.md).
"""
