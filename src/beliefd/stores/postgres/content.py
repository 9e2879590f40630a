"""What PostgreSQL keeps beside the ledgers: policies, evidence, calibration sets, tokens."""

from collections.abc import Collection

from beliefd.stores.base import Adoption, CalibrationRow, Token
from beliefd.stores.postgres.database import Database


class Content(Database):
    """That part of the store. Each of its writes is rare and small."""

    async def policy(self, policy_hash: str) -> bytes | None:
        row = await self._one("SELECT document FROM policies WHERE policy_hash = $1", policy_hash)
        return None if row is None else bytes(row[0])

    async def adopt(self, adoption: Adoption) -> None:
        await self._write(
            "INSERT INTO adoptions (policy_hash, document, adopted_at, adopted_by) VALUES ($1, $2, $3, $4)",
            adoption.policy_hash,
            adoption.document,
            adoption.adopted_at,
            adoption.adopted_by,
        )

    async def adopted(self) -> Adoption | None:
        row = await self._one(
            "SELECT policy_hash, document, adopted_at, adopted_by FROM adoptions ORDER BY number DESC LIMIT 1"
        )
        return None if row is None else Adoption(*row)

    async def put_content(self, sha256: str, content: bytes) -> None:
        await self._write(
            "INSERT INTO content (sha256, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING", sha256, content
        )

    async def content(self, sha256: str) -> bytes | None:
        row = await self._one("SELECT bytes FROM content WHERE sha256 = $1", sha256)
        return None if row is None else bytes(row[0])

    async def kept_content(self, hashes: Collection[str]) -> set[str]:
        rows = await self._all("SELECT sha256 FROM content WHERE sha256 = ANY($1)", list(hashes))
        return {name for (name,) in rows}

    async def add_calibration(self, row: CalibrationRow) -> bool:
        added = await self._write(
            "INSERT INTO calibrations (name, version, sha256, created_at, document)"
            " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING version",
            row.name,
            row.version,
            row.sha256,
            row.created_at,
            row.document,
        )
        return added is not None

    async def calibration(self, name: str, version: int | None = None) -> CalibrationRow | None:
        row = await self._one(
            "SELECT name, version, sha256, created_at, document FROM calibrations"
            " WHERE name = $1 AND version = coalesce($2, version) ORDER BY version DESC LIMIT 1",
            name,
            version,
        )
        return None if row is None else CalibrationRow(*row)

    async def add_token(self, token: Token) -> None:
        await self._write(
            "INSERT INTO tokens (token_id, name, role, tier, secret_hash, created_at, revoked_at)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7)",
            token.token_id,
            token.name,
            token.role,
            token.tier,
            token.secret_hash,
            token.created_at,
            token.revoked_at,
        )

    async def tokens(self) -> list[Token]:
        rows = await self._all(
            "SELECT token_id, name, role, tier, secret_hash, created_at, revoked_at"
            " FROM tokens ORDER BY token_id"
        )
        return [Token(*row) for row in rows]

    async def revoke_token(self, token_id: str, at: str) -> bool:
        revoked = await self._write(
            "UPDATE tokens SET revoked_at = $1 WHERE token_id = $2 AND revoked_at IS NULL RETURNING token_id",
            at,
            token_id,
        )
        return revoked is not None
