"""Write intents: how what is believed may change, and the propositions that it is believed of."""
