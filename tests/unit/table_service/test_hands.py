"""Where the list of a table's hands goes on."""

from __future__ import annotations

from typing import Any, cast

import pytest

from services.table.hands import Hands
from shared.errors import CroupierError
from shared.rpc import pages


@pytest.mark.parametrize("last", ["x", "²", "-1", "9" * 30, "1" * 5_000])
async def test_a_token_of_no_answer_is_refused(last: str) -> None:
    none = cast("Any", None)
    with pytest.raises(CroupierError) as refused:
        await Hands(none, none, none, none).of_table("t1", 0, pages.token(last))
    assert (refused.value.reason, refused.value.field) == ("BAD_PAGE_TOKEN", "page_token")
