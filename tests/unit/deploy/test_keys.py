"""The keys of a house, and their change."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from deploy import joining, key_commands
from deploy import keys as keys_of_the_house
from deploy.errors import CannotJoinError, HouseError, OtherFormatError
from deploy.folder import HouseFolder
from deploy.keys import KeyFolder, Keys
from deploy.programs import Programs
from shared.checkpoints.signed_note import NoteVerifier
from shared.ops.settings import AuditSettings, ShuffleSettings, read


def test_a_change_makes_new_keys_and_keeps_the_old_ones() -> None:
    first = Keys()
    second = first.rotated()
    third = second.rotated()
    assert [keys.deployment_id for keys in (first, second, third)] == ["k1", "k2", "k3"]
    assert [keys.seed_id for keys in (first, second, third)] == ["s1", "s2", "s3"]
    assert third.old_deployment == {"k1": first.deployment, "k2": second.deployment}
    assert third.old_seed == {"s1": first.seed, "s2": second.seed}
    assert len({keys.seed for keys in (first, second, third)}) == 3
    assert (third.postgres, third.nats, third.roles) == (first.postgres, first.nats, first.roles)


def test_an_old_seed_key_may_go_and_its_number_does_not_come_back() -> None:
    second = Keys().rotated()
    third = second.rotated().without_seed_key("s1")
    assert set(third.old_seed) == {"s2"}
    assert third.rotated().seed_id == "s4"
    with pytest.raises(KeyError):
        third.without_seed_key("s3")  # in use


def test_keys_of_an_older_house_are_read(tmp_path: Path) -> None:
    """Written before there were old keys."""
    folder = KeyFolder(tmp_path)
    keys = folder.load()
    kept = tmp_path / "house.json"
    document = json.loads(kept.read_text())
    for later in ("deployment_id", "seed_id", "old_deployment", "old_seed"):
        del document[later]
    kept.write_text(json.dumps(document))
    assert folder.load() == keys
    folder.store(keys.rotated())
    assert folder.load().old_seed == {"s1": keys.seed}


def test_a_house_from_before_there_were_checkpoints_gets_a_key_and_keeps_it(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path)
    keys = folder.load()
    kept = tmp_path / "house.json"
    document = json.loads(kept.read_text())
    del document["log_id"], document["checkpoint"]
    kept.write_text(json.dumps(document))
    opened = folder.load()
    assert opened.note_signer() not in (keys.note_signer(), Keys().note_signer())
    assert folder.load() == opened
    assert replace(opened, log_id=keys.log_id, checkpoint=keys.checkpoint) == keys
    assert opened.rotated().note_signer() == opened.note_signer()


def test_the_audit_signs_with_the_key_that_the_house_hands_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = HouseFolder(tmp_path)
    keys = folder.keys.load()
    started = Programs(folder, keys, folder.choose_ports()).service("audit", "audit")
    for name, value in started.env.items():
        monkeypatch.setenv(name, value)
    verifier = read(AuditSettings).note_signer().verifier
    monkeypatch.setattr(key_commands, "folder_of", lambda _: folder)
    printed = CliRunner().invoke(key_commands.keys, ["verifier"])
    assert printed.stdout == f"{verifier}\n"
    assert NoteVerifier.parse(printed.stdout.strip()).name == keys.log_id


def test_two_that_find_a_key_missing_go_on_with_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`croupier up` and another command, in a house from before there were checkpoints: it would
    sign with a key that nobody is handed out."""
    folder = KeyFolder(tmp_path)
    folder.load()
    kept = tmp_path / "house.json"
    document = json.loads(kept.read_text())
    del document["log_id"], document["checkpoint"]
    kept.write_text(json.dumps(document))
    second: list[Keys] = []
    others = [threading.Thread(target=lambda: second.append(folder.load()))]

    def in_between(keys: Keys) -> dict[str, Any]:
        if others:
            other = others.pop()
            other.start()
            other.join(0.3)  # it waits for us, or has come first
            started.append(other)
        return asdict(keys)

    started: list[threading.Thread] = []
    monkeypatch.setattr(keys_of_the_house, "asdict", in_between)
    first = folder.load()
    started[0].join()
    assert second == [first] == [folder.load()]


@pytest.mark.parametrize("written", ["", "[]", '{"signing": "secret"}'])
def test_keys_that_this_version_does_not_know_are_told_without_a_word_of_them(
    tmp_path: Path, written: str
) -> None:
    """An older version in the folder of a newer one."""
    folder = KeyFolder(tmp_path)
    folder.load()
    (tmp_path / "house.json").write_text(written)
    with pytest.raises(OtherFormatError, match="other keys than this version") as told:
        folder.load()
    assert "secret" not in str(told.value)


def test_however_often_keys_are_changed_the_services_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = HouseFolder(tmp_path)
    keys = folder.keys.load()
    for _ in range(40):
        keys = keys.rotated()
    started = Programs(folder, keys, folder.choose_ports()).service("shuffle", "shuffle")
    for name, value in started.env.items():
        monkeypatch.setenv(name, value)
    settings = read(ShuffleSettings)
    assert (len(settings.old_deployment_keys), len(settings.old_seed_keys)) == (40, 40)


def test_what_the_environment_says_of_another_house_no_service_of_this_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes before files, and is there for `migrate --dsn` and `log recover --dsn`: services here
    would write to that database, and seal with those keys under the ids of their own."""
    folder = HouseFolder(tmp_path)
    keys = folder.keys.load()
    elsewhere = {
        "CROUPIER_DATABASE_DSN": "postgresql://elsewhere/croupier",
        "CROUPIER_NATS_URL": "nats://elsewhere",
        "CROUPIER_DEPLOYMENT_KEY": Keys().deployment,
        "croupier_seed_key": Keys().seed,
        "CROUPIER_ADVERTISE": "10.0.0.7:50051",
    }
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CROUPIER_LOG_LEVEL", "debug")
    started = Programs(folder, keys, folder.choose_ports()).service("shuffle", "shuffle")
    told = started.environment()
    for name in elsewhere:
        monkeypatch.delenv(name)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    settings = read(ShuffleSettings)
    assert "elsewhere" not in settings.database_dsn.get_secret_value()
    assert "elsewhere" not in settings.nats_url.get_secret_value()
    assert settings.field_keys() == keys.field_keys()
    assert settings.seed_keys() == keys.seed_keys()
    assert settings.address == settings.listen
    assert settings.log_level == "debug"


def test_a_node_with_keys_that_the_house_does_not_know_cannot_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sealed nobody else could read: its tables would be stuck."""
    monkeypatch.setattr(joining, "serve", lambda service: 0)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    folder = HouseFolder(tmp_path)
    keys = folder.keys.load()
    ports = folder.choose_ports()
    folder.write(ports, {})
    Programs(folder, keys, ports).service("shuffle", "shuffle")
    with folder.held():
        assert joining.join_house(folder, "x") == 0
        folder.keys.store(keys.rotated())
        with pytest.raises(CannotJoinError, match="next start"):
            joining.join_house(folder, "y")
        Programs(folder, folder.keys.load(), ports).service("shuffle", "shuffle")
        assert joining.join_house(folder, "y") == 0


def test_no_key_is_in_the_text_of_the_keys() -> None:
    keys = Keys().rotated()
    secrets = (
        keys.seed,
        keys.deployment,
        keys.checkpoint,
        *keys.old_seed.values(),
        *keys.old_deployment.values(),
    )
    assert not [secret for secret in secrets if secret in repr(keys)]


def test_a_key_that_shuffle_still_seals_with_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changed while the house is open, the old one is in use until the next start: a seed sealed
    after it was thrown away would open nevermore."""
    folder = HouseFolder(tmp_path)
    keys = folder.keys.load()
    ports = folder.choose_ports()
    folder.write(ports, {})
    monkeypatch.setattr(key_commands, "folder_of", lambda _: folder)
    monkeypatch.setattr(key_commands, "_seeds_by_key", lambda _: {})

    def forget() -> Result:
        return CliRunner().invoke(key_commands.keys, ["forget", "s1"])

    Programs(folder, keys, ports).service("shuffle", "shuffle")
    folder.keys.store(keys.rotated())
    refused = forget()
    assert isinstance(refused.exception, HouseError)
    assert "still seals with s1" in str(refused.exception)
    assert set(folder.keys.load().old_seed) == {"s1"}
    Programs(folder, folder.keys.load(), ports).service("shuffle", "shuffle")  # the next start
    assert forget().exit_code == 0
    assert folder.keys.load().old_seed == {}
