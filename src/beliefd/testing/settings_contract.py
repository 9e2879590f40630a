"""What every store promises about what it keeps beside the ledgers; part of `StoreContract`."""

from beliefd.stores.base import Adoption, CalibrationRow, Store, Token
from beliefd.testing.appends import CREATED
from beliefd.testing.promises import Promises, promise


class SettingsContract(Promises):
    """Tokens, calibration sets, adopted policies."""

    @promise
    async def test_tokens_are_kept_and_revoked_once(self, store: Store) -> None:
        first = Token("aa", "Zoë", "agent", "WRITE_LIMITED", "hash a", CREATED)
        second = Token("bb", "bob", "admin", "PRIVILEGE", "hash b", CREATED)
        await store.add_token(second)
        await store.add_token(first)
        assert await store.tokens() == [first, second]
        assert await store.revoke_token("bb", "2026-02-01") is True
        assert await store.revoke_token("bb", "2026-03-01") is False
        assert await store.revoke_token("unknown", "2026-02-01") is False
        assert [token.revoked_at for token in await store.tokens()] == [None, "2026-02-01"]

    @promise
    async def test_versions_of_a_calibration_set_never_change_and_the_newest_is_given(
        self, store: Store
    ) -> None:
        assert await store.calibration("set") is None
        first, tenth, other = (
            CalibrationRow("set", version, "hash", CREATED, document)
            for version, document in ((1, b"one"), (10, b"ten"), (10, b"other"))
        )
        assert await store.add_calibration(first)
        assert await store.add_calibration(tenth)
        assert not await store.add_calibration(other)
        assert await store.calibration("set") == tenth
        assert await store.calibration("set", 1) == first
        assert await store.calibration("set", 2) is None
        assert await store.calibration("se") is None
        assert await store.calibrations() == [("set", 1), ("set", 10)]

    @promise
    async def test_a_lease_has_one_holder_until_it_ends_or_is_given_back(self, store: Store) -> None:
        assert await store.lease("chore", "one", 600.0)
        assert await store.lease("chore", "one", 600.0)
        assert not await store.lease("chore", "two", 600.0)
        assert await store.lease("another chore", "two", 600.0)
        await store.end_lease("chore", "two")
        assert not await store.lease("chore", "two", 600.0)
        await store.end_lease("chore", "one")
        assert await store.lease("chore", "two", -1.0)  # it has ended already
        assert await store.lease("chore", "one", 600.0)
        assert not await store.lease("chore", "two", 600.0)

    @promise
    async def test_what_was_brought_first_is_shared_until_it_is_replaced(self, store: Store) -> None:
        assert await store.shared("secret") is None
        assert await store.share("secret", b"\x00\xff") == b"\x00\xff"
        assert await store.share("secret", b"another") == b"\x00\xff"
        assert await store.share("secret", b"another", anew=True) == b"another"
        assert await store.shared("secret") == b"another"
        assert await store.shared("another secret") is None

    @promise
    async def test_the_policy_that_was_adopted_last_is_given(self, store: Store) -> None:
        assert await store.adopted() is None
        first = Adoption("hash a", b"\x00\xff", "2026-02-01", "admin://Zoë")
        second = Adoption("hash b", b"{}", "2026-01-01", "admin://bob")
        for adoption in (first, second, first):
            await store.adopt(adoption)
            assert await store.adopted() == adoption
        assert await store.adopted("hash b") == second
        assert await store.adopted("hash c") is None
