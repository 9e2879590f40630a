"""How often templates err, and how often they see what is there: experiments whose answer is known."""
