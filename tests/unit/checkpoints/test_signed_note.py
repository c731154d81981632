"""Signed notes and checkpoints: the vectors of other implementations, and what is refused."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from shared.checkpoints.checkpoint import (
    Checkpoint,
    OtherLogError,
    origin_of,
    place_of,
    read_checkpoint,
)
from shared.checkpoints.signed_note import (
    BadSignatureError,
    MalformedNoteError,
    NoteError,
    NoteSigner,
    NoteVerifier,
    UnknownKeyError,
    split_notes,
)

# The key and the note of the Go implementation's own tests (golang.org/x/mod/sumdb/note).
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_PRIVATE_KEY = b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
SIGNED = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdng"
    "otpRZb6KE6RyyBwJnAM=\n"
)
NOTE = f"{TEXT}\n{SIGNED}"
# The one of another implementation's documents.
EXAMPLE = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLES_NOTE = (
    "This is an example message.\n\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRK"
    "uwHjG1Yu72IneyaQM=\n"
)

SIGNER = NoteSigner("casino.example/one", bytes(range(32)))
OTHER = NoteSigner("casino.example/two", bytes(range(32)))
ROOT = sha256(b"root").digest()
CHECKPOINT = Checkpoint("casino.example/one/table.0", 41, ROOT)


def test_the_notes_of_other_implementations_verify() -> None:
    assert NoteVerifier.parse(PETER).open(NOTE) == TEXT
    assert NoteVerifier.parse(EXAMPLE).open(EXAMPLES_NOTE) == "This is an example message.\n"


def test_the_same_key_signs_the_same_note() -> None:
    peter = NoteSigner("PeterNeumann", PETERS_PRIVATE_KEY)
    assert str(peter.verifier) == PETER
    assert peter.sign(TEXT) == NOTE


def test_a_note_by_the_words_of_the_specification() -> None:
    """Taken apart without the code under test."""
    note = SIGNER.sign(CHECKPOINT.text())
    text, signature = note.split("\n\n")
    assert text.split("\n") == ["casino.example/one/table.0", "41", b64encode(ROOT).decode()]
    dash, name, encoded = signature.rstrip("\n").split(" ")
    assert (dash, name) == ("\u2014", "casino.example/one")
    _, key_id, key = str(SIGNER.verifier).split("+", 2)
    public = b64decode(key)[1:]
    assert b64decode(key)[0] == 1
    assert sha256(name.encode() + b"\n\x01" + public).hexdigest()[:8] == key_id
    assert b64decode(encoded)[:4].hex() == key_id
    Ed25519PublicKey.from_public_bytes(public).verify(b64decode(encoded)[4:], f"{text}\n".encode())


def test_a_key_that_is_not_utf_8_is_none() -> None:
    """As the arguments of a command may be."""
    with pytest.raises(MalformedNoteError):
        NoteVerifier.parse(PETER.replace("Peter", "\udcff"))


def test_a_key_that_was_touched_is_none() -> None:
    for at in range(len(PETER)):
        for damaged in (PETER[:at], PETER[:at] + "A" + PETER[at + 1 :]):
            if damaged == PETER:
                continue
            with pytest.raises(MalformedNoteError):
                NoteVerifier.parse(damaged)


@pytest.mark.parametrize("name", ["", "with space", "with+plus", "with\u3000space", "\udcff"])
def test_names_that_no_key_may_have(name: str) -> None:
    with pytest.raises(MalformedNoteError):
        NoteVerifier(name, bytes(32))


@pytest.mark.parametrize(
    "note",
    [
        "",
        TEXT,
        TEXT + "\n",
        SIGNED,
        "\n" + SIGNED,
        TEXT + SIGNED,
        NOTE[:-1],
        NOTE + "\n",
        NOTE + "more\n",
        NOTE.replace("\u2014", "-"),
        NOTE.replace("\u2014 P", "\u2014  P"),
        NOTE.replace("AM=", "AM"),
        NOTE.replace("AM=", "AN="),
        NOTE.replace("AM=", "A\u00b5="),
        TEXT + "\n— PeterNeumann x08gow==\n",
        TEXT + "\n— Peter+Neumann x08go/ZJkuA=\n",
        NOTE.replace("\n", "\r\n"),
        "tab\there\n\n" + SIGNED,
        TEXT + "\n" + SIGNED * 17,
        "x" * 70_000 + "\n\n" + SIGNED,
        "not UTF-8: \udcff\n\n" + SIGNED,
    ],
)
def test_what_is_no_note(note: str) -> None:
    with pytest.raises(MalformedNoteError):
        NoteVerifier.parse(PETER).open(note)


def test_whoever_else_has_signed_does_not_count() -> None:
    note = SIGNER.sign(TEXT)
    assert NoteVerifier.parse(PETER).open(note + SIGNED) == TEXT
    for stranger in (OTHER.verifier, NoteVerifier(SIGNER.name, OTHER.verifier.public_key[::-1])):
        with pytest.raises(UnknownKeyError):
            stranger.open(note)


def test_a_changed_text_or_signature_is_refused() -> None:
    peter = NoteVerifier.parse(PETER)
    with pytest.raises(BadSignatureError):
        peter.open(NOTE.replace("cryptography", "Cryptography"))
    forged = b64encode(peter.key_id + bytes(64)).decode()
    with pytest.raises(BadSignatureError):
        peter.open(f"{TEXT}\n— PeterNeumann {forged}\n")
    # One good signature of the key does not make up for a bad one.
    with pytest.raises(BadSignatureError):
        peter.open(f"{NOTE}— PeterNeumann {forged}\n")


def test_what_cannot_be_a_note_is_not_signed() -> None:
    for text in ("", "no newline", "tab\t\n"):
        with pytest.raises(MalformedNoteError):
            SIGNER.sign(text)


def test_no_private_key_shows() -> None:
    assert repr(SIGNER.private_key)[2:-1] not in repr(SIGNER)


def test_notes_one_after_another() -> None:
    notes = [SIGNER.sign(Checkpoint("l/table.0", size, ROOT).text()) for size in (1, 2, 3)]
    notes[1] += OTHER.sign(Checkpoint("l/table.0", 2, ROOT).text()).split("\n\n")[1]
    assert split_notes("".join(notes)) == notes
    assert split_notes("\n\n".join(notes)) == notes
    assert split_notes("") == []
    for broken in (notes[0][:-1], notes[0] + "l/table.0\n"):
        with pytest.raises(MalformedNoteError):
            split_notes(broken)
    # Half of one, as a full disk leaves it, is found in a long file.
    with pytest.raises(MalformedNoteError, match="number 2: "):
        split_notes(notes[0] + notes[1][:-7] + "\n" + notes[2])


def test_a_checkpoint_is_read_as_it_was_signed() -> None:
    note = SIGNER.sign(CHECKPOINT.text())
    assert read_checkpoint(note, SIGNER.verifier) == CHECKPOINT
    with pytest.raises(NoteError):
        read_checkpoint(note, OTHER.verifier)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        CHECKPOINT.text() + "extension\n",
        CHECKPOINT.text().replace("41", "041"),
        CHECKPOINT.text().replace("41", "-1"),
        CHECKPOINT.text().replace("41", "٤١"),
        CHECKPOINT.text().replace("41", "9223372036854775808"),
        CHECKPOINT.text().replace("=", ""),
        CHECKPOINT.text()[:-3] + "/=\n",
        "\n41\n" + b64encode(ROOT).decode() + "\n",
    ],
)
def test_what_is_no_checkpoint(text: str) -> None:
    with pytest.raises(MalformedNoteError):
        Checkpoint.parse(text)


def test_origins() -> None:
    for partition, line in (("table.0", 1), ("wallet.12", 2), ("audit.0", 17)):
        origin = origin_of("casino.example/one", partition, line)
        assert place_of(origin, "casino.example/one") == (partition, line)
    assert origin_of("l", "table.0") == "l/table.0"
    assert origin_of("l", "table.0", 2) == "l/table.0/2"


@pytest.mark.parametrize(
    "origin", ["l", "l/", "l/table", "l/table.0/", "l/table.0/1", "l/table.0/x", "m/table.0", "ll"]
)
def test_origins_of_other_logs(origin: str) -> None:
    with pytest.raises(OtherLogError):
        place_of(origin, "l")
