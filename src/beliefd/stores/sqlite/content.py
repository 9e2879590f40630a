"""What SQLite keeps beside the ledgers: policies, evidence, calibration sets, tokens."""

import asyncio
import json
from collections.abc import Collection
from typing import Any

from beliefd.stores.base import Adoption, CalibrationRow, Token
from beliefd.stores.sqlite.database import Database


class Content(Database):
    """That part of the store. Each of its writes is rare and small."""

    async def policy(self, policy_hash: str) -> bytes | None:
        row = self._one("SELECT document FROM policies WHERE policy_hash = ?", policy_hash)
        return None if row is None else bytes(row[0])

    async def adopt(self, adoption: Adoption) -> None:
        statement = (
            "INSERT INTO adoptions (policy_hash, document, adopted_at, adopted_by) VALUES (?, ?, ?, ?)"
        )
        values = (adoption.policy_hash, adoption.document, adoption.adopted_at, adoption.adopted_by)
        await asyncio.to_thread(self._execute_alone, statement, *values)

    async def adopted(self) -> Adoption | None:
        row = self._one(
            "SELECT policy_hash, document, adopted_at, adopted_by FROM adoptions ORDER BY number DESC LIMIT 1"
        )
        return None if row is None else Adoption(row[0].decode(), row[1], row[2].decode(), row[3].decode())

    async def put_content(self, sha256: str, content: bytes) -> None:
        statement = "INSERT OR IGNORE INTO content (sha256, bytes) VALUES (?, ?)"
        await asyncio.to_thread(self._execute_alone, statement, sha256, content)

    async def content(self, sha256: str) -> bytes | None:
        row = self._one("SELECT bytes FROM content WHERE sha256 = ?", sha256)
        return None if row is None else bytes(row[0])

    async def kept_content(self, hashes: Collection[str]) -> set[str]:
        asked = json.dumps(list(hashes))
        rows = self._all("SELECT sha256 FROM content WHERE sha256 IN (SELECT value FROM json_each(?))", asked)
        return {name.decode() for (name,) in rows}

    async def add_calibration(self, row: CalibrationRow) -> bool:
        statement = (
            "INSERT OR IGNORE INTO calibrations (name, version, sha256, created_at, document)"
            " VALUES (?, ?, ?, ?, ?)"
        )
        values = (row.name, row.version, row.sha256, row.created_at, row.document)
        return await asyncio.to_thread(self._execute_alone, statement, *values) > 0

    async def calibration(self, name: str, version: int | None = None) -> CalibrationRow | None:
        row = self._one(
            "SELECT version, sha256, created_at, document FROM calibrations"
            " WHERE name = ? AND version = coalesce(?, version) ORDER BY version DESC LIMIT 1",
            name,
            version,
        )
        return None if row is None else CalibrationRow(name, row[0], row[1].decode(), row[2].decode(), row[3])

    async def add_token(self, token: Token) -> None:
        await asyncio.to_thread(
            self._execute_alone,
            "INSERT INTO tokens (token_id, name, role, tier, secret_hash, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            token.token_id,
            token.name,
            token.role,
            token.tier,
            token.secret_hash,
            token.created_at,
        )

    async def tokens(self) -> list[Token]:
        rows = self._all(
            "SELECT token_id, name, role, tier, secret_hash, created_at, revoked_at"
            " FROM tokens ORDER BY token_id"
        )
        return [_token(row) for row in rows]

    async def revoke_token(self, token_id: str, at: str) -> bool:
        changed = await asyncio.to_thread(
            self._execute_alone,
            "UPDATE tokens SET revoked_at = ? WHERE token_id = ? AND revoked_at IS NULL",
            at,
            token_id,
        )
        return changed > 0


def _token(row: tuple[Any, ...]) -> Token:
    token_id, name, role, tier, secret_hash, created_at = (cell.decode() for cell in row[:6])
    return Token(token_id, name, role, tier, secret_hash, created_at, row[6].decode() if row[6] else None)
