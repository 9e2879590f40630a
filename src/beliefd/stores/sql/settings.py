"""What a database keeps beside the ledgers: policies, calibration sets, tokens, spaces, what is shared."""

from msgspec.structs import astuple

from beliefd.stores.base import Adoption, CalibrationRow, SpaceRow, Token
from beliefd.stores.sql.database import Database, as_bytes
from beliefd.stores.sql.tables import CREDENTIALS


class Settings(Database):
    """That part of the store. Each of its writes is rare and small."""

    async def policy(self, policy_hash: str) -> bytes | None:
        row = await self._one("SELECT document FROM policies WHERE policy_hash = $1", policy_hash)
        return None if row is None else as_bytes(row[0])

    async def adopt(self, adoption: Adoption) -> None:
        statement = (
            "INSERT INTO adoptions (policy_hash, document, adopted_at, adopted_by) VALUES ($1, $2, $3, $4)"
        )
        await self._write(statement, *astuple(adoption))

    async def adopted(self, policy_hash: str | None = None) -> Adoption | None:
        row = await self._one(
            "SELECT policy_hash, document, adopted_at, adopted_by FROM adoptions"
            " WHERE policy_hash = coalesce($1, policy_hash) ORDER BY number DESC LIMIT 1",
            policy_hash,
        )
        return None if row is None else Adoption(row[0], as_bytes(row[1]), *row[2:])

    async def add_calibration(self, row: CalibrationRow) -> bool:
        statement = (
            "INSERT INTO calibrations (name, version, sha256, created_at, document)"
            " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING version"
        )
        return await self._write(statement, *astuple(row)) is not None

    async def calibration(self, name: str, version: int | None = None) -> CalibrationRow | None:
        row = await self._one(
            "SELECT name, version, sha256, created_at, document FROM calibrations"
            " WHERE name = $1 AND version = coalesce($2, version) ORDER BY version DESC LIMIT 1",
            name,
            version,
        )
        if row is None:
            return None
        kept, number, sha256, created_at, document = row
        return CalibrationRow(kept, number, sha256, created_at, as_bytes(document))

    async def calibrations(self) -> list[tuple[str, int]]:
        rows = await self._all("SELECT name, version FROM calibrations ORDER BY name, version")
        return [(name, version) for name, version in rows]

    async def add_token(self, token: Token) -> None:
        marks = ", ".join(f"${number}" for number in range(1, len(CREDENTIALS.columns) + 1))
        statement = f"INSERT INTO {CREDENTIALS.name} ({CREDENTIALS.listed}) VALUES ({marks})"  # noqa: S608
        await self._write(statement, *CREDENTIALS.cells(token))

    async def tokens(self) -> list[Token]:
        rows = await self._all(f"{CREDENTIALS.select} ORDER BY token_id")
        return [CREDENTIALS.row(row) for row in rows]

    async def revoke_token(self, token_id: str, at: str) -> bool:
        statement = (
            "UPDATE tokens SET revoked_at = $1 WHERE token_id = $2 AND revoked_at IS NULL RETURNING token_id"
        )
        return await self._write(statement, at, token_id) is not None

    async def add_space(self, row: SpaceRow) -> bool:
        statement = (
            "INSERT INTO spaces (name, created_at, created_by) VALUES ($1, $2, $3)"
            " ON CONFLICT DO NOTHING RETURNING name"
        )
        return await self._write(statement, *astuple(row)) is not None

    async def spaces(self) -> list[SpaceRow]:
        rows = await self._all("SELECT name, created_at, created_by FROM spaces ORDER BY name")
        return [SpaceRow(*row) for row in rows]

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        statement = (
            f"INSERT INTO leases (name, holder, until) VALUES ($1, $2, {self.CLOCK} + $3)"  # noqa: S608
            " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"
            f" WHERE leases.holder = excluded.holder OR leases.until < {self.CLOCK} RETURNING name"
        )
        return await self._write(statement, name, holder, seconds) is not None

    async def end_lease(self, name: str, holder: str) -> None:
        await self._write("DELETE FROM leases WHERE name = $1 AND holder = $2", name, holder)

    async def share(self, name: str, secret: bytes, *, anew: bool = False) -> bytes:
        kept = "excluded" if anew else "shared"
        statement = (
            "INSERT INTO shared (name, secret) VALUES ($1, $2)"  # noqa: S608 - made of constants
            f" ON CONFLICT (name) DO UPDATE SET secret = {kept}.secret RETURNING secret"
        )
        return as_bytes(await self._write(statement, name, secret))

    async def shared(self, name: str) -> bytes | None:
        row = await self._one("SELECT secret FROM shared WHERE name = $1", name)
        return None if row is None else as_bytes(row[0])
