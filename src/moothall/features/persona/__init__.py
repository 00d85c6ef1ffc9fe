"""The persona protocol: all seats listen and bid for the floor, and the seat with the strongest reaction speaks (MPCIP)."""
