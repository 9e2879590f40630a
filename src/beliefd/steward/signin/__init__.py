"""People sign in with what they have: tokens that an identity provider signed (OpenID Connect)."""
