"""Reviews of a change: a board reads it blind, code checks what it quotes, and what is disputed is voted on."""
