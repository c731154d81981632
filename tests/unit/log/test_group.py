"""Group commit, with a commit that tests hold in their hands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from shared.log import Append, Appended, LogOverloadedError, LogUnavailableError, Outcome
from shared.log.group import MAX_GROUP_APPENDS, GroupCommit
from tests.logs import append
from tests.polling import eventually


class Commits:
    """Records the groups; holds each until `gate` is open; refuses what it is told to."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.refused: dict[str, Exception] = {}

    async def __call__(self, appends: Sequence[Append]) -> list[Appended]:
        self.groups.append([each.stream for each in appends])
        await self.gate.wait()
        for each in appends:
            if each.stream in self.refused:
                raise self.refused[each.stream]
        return [Appended(Outcome.OK, each.stream, 1, 1, 1, None) for each in appends]


@pytest.fixture
def commits() -> Commits:
    return Commits()


async def held_up(group: GroupCommit, commits: Commits) -> asyncio.Task[list[Appended]]:
    """A first append, under way until the gate opens."""
    commits.gate.clear()
    first = asyncio.create_task(group.append([append("table/first", 0)]))
    await eventually(lambda: commits.groups)
    return first


async def test_what_waits_together_goes_together(commits: Commits) -> None:
    group = GroupCommit(commits)
    first = await held_up(group, commits)
    others = [asyncio.create_task(group.append([append(f"table/{n}", 0)])) for n in range(50)]
    await asyncio.sleep(0)
    commits.gate.set()
    answers = await asyncio.gather(first, *others)
    assert commits.groups == [["table/first"], [f"table/{n}" for n in range(50)]]
    assert [answer[0].partition for answer in answers[1:]] == commits.groups[1]


async def test_a_stream_is_under_way_once(commits: Commits) -> None:
    group = GroupCommit(commits)
    first = await held_up(group, commits)
    waiting = [
        asyncio.create_task(group.append([append(stream, version)]))
        for stream, version in [("table/a", 0), ("table/a", 1), ("table/b", 0), ("table/a", 2)]
    ]
    await asyncio.sleep(0)
    commits.gate.set()
    await asyncio.gather(first, *waiting)
    assert commits.groups[1:] == [["table/a", "table/b"], ["table/a"], ["table/a"]]


async def test_appends_of_one_call_stay_together_and_behind_those_before(commits: Commits) -> None:
    group = GroupCommit(commits)
    first = await held_up(group, commits)
    calls = [["table/a"], ["table/b", "table/a"], ["table/b"]]
    waiting = [
        asyncio.create_task(group.append([append(stream, 0) for stream in streams]))
        for streams in calls
    ]
    await asyncio.sleep(0)
    commits.gate.set()
    await asyncio.gather(first, *waiting)
    assert commits.groups[1:] == calls


async def test_groups_are_bounded(commits: Commits) -> None:
    group = GroupCommit(commits)
    first = await held_up(group, commits)
    waiting = [
        asyncio.create_task(group.append([append(f"table/{n}", 0)]))
        for n in range(MAX_GROUP_APPENDS + 5)
    ]
    await asyncio.sleep(0)
    commits.gate.set()
    await asyncio.gather(first, *waiting)
    assert [len(each) for each in commits.groups] == [1, MAX_GROUP_APPENDS, 5]


async def test_one_callers_error_is_nobody_elses(commits: Commits) -> None:
    group = GroupCommit(commits)
    commits.refused["table/bad"] = PermissionError("not yours")
    first = await held_up(group, commits)
    good = asyncio.create_task(group.append([append("table/good", 0)]))
    bad = asyncio.create_task(group.append([append("table/bad", 0)]))
    await asyncio.sleep(0)
    commits.gate.set()
    assert (await first)[0].outcome is Outcome.OK
    assert (await good)[0].outcome is Outcome.OK
    with pytest.raises(PermissionError):
        await bad


async def test_an_unreachable_log_fails_the_group_at_once(commits: Commits) -> None:
    group = GroupCommit(commits)
    commits.refused["table/a"] = LogUnavailableError("away")
    answers = await asyncio.gather(
        group.append([append("table/a", 0)]),
        group.append([append("table/b", 0)]),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [LogUnavailableError, LogUnavailableError]
    assert commits.groups == [["table/a", "table/b"]]


async def test_a_log_that_goes_away_meanwhile_is_waited_for_once(commits: Commits) -> None:
    """Each try takes ten seconds then: hundreds of them would hold up their process for an hour."""
    group = GroupCommit(commits)
    commits.refused["table/bad"] = PermissionError("not yours")
    commits.refused["table/0"] = LogUnavailableError("away")
    first = await held_up(group, commits)
    others = [
        asyncio.create_task(group.append([append(stream, 0)]))
        for stream in ("table/bad", "table/0", "table/1", "table/2")
    ]
    await asyncio.sleep(0)
    commits.gate.set()
    await first
    answers = await asyncio.gather(*others, return_exceptions=True)
    assert [type(answer) for answer in answers] == [PermissionError, *[LogUnavailableError] * 3]
    assert commits.groups[2:] == [["table/bad"], ["table/0"]]


async def test_too_many_waiting_are_refused(commits: Commits) -> None:
    group = GroupCommit(commits, max_waiting_appends=2)
    first = await held_up(group, commits)
    waiting = [asyncio.create_task(group.append([append(f"table/{n}", 0)])) for n in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(LogOverloadedError):
        await group.append([append("table/more", 0)])
    commits.gate.set()
    await asyncio.gather(first, *waiting)
    assert (await group.append([append("table/more", 0)]))[0].outcome is Outcome.OK


async def test_who_gives_up_waiting_is_left_out(commits: Commits) -> None:
    group = GroupCommit(commits)
    first = await held_up(group, commits)
    given_up = asyncio.create_task(group.append([append("table/a", 0)]))
    other = asyncio.create_task(group.append([append("table/b", 0)]))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    commits.gate.set()
    await asyncio.gather(first, other)
    assert commits.groups[1:] == [["table/b"]]


async def test_closing_finishes_what_waits_and_takes_nothing_more(commits: Commits) -> None:
    group = GroupCommit(commits)
    first = await held_up(group, commits)
    waiting = asyncio.create_task(group.append([append("table/a", 0)]))
    await asyncio.sleep(0)
    closing = asyncio.create_task(group.close())
    await asyncio.sleep(0)
    with pytest.raises(LogUnavailableError):
        await group.append([append("table/b", 0)])
    commits.gate.set()
    await closing
    assert first.done()
    assert (await waiting)[0].outcome is Outcome.OK


async def test_a_call_that_no_group_can_hold_is_refused(commits: Commits) -> None:
    group = GroupCommit(commits)
    with pytest.raises(ValueError, match="in one call"):
        await group.append([append(f"table/{n}", 0) for n in range(MAX_GROUP_APPENDS + 1)])
    assert await group.append([]) == []
    assert commits.groups == []


async def test_one_stream_twice_in_a_call_is_refused(commits: Commits) -> None:
    with pytest.raises(ValueError, match="one append a stream"):
        await GroupCommit(commits).append([append("table/a", 0), append("table/a", 1)])
