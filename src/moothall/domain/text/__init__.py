"""What text is made of: signs and numerals, each with the one way in which it is compared or read."""
