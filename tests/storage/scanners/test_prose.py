"""Secrets told in sentences, in eight languages. The sentences were written before the rules, by somebody who did not know them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byheart.sessions.clipping import cleaned
from byheart.storage.scanners.scanner import RuleScanner

FOLDER = Path(__file__).with_name("prose")
SCANNER = RuleScanner()


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def test_sentences_that_tell_a_secret_are_recognised() -> None:
    told = rows("secret.jsonl")
    missed = [row["text"] for row in told if row["secret"] in SCANNER.redacted(row["text"])]
    assert len(told) == 60 and len(missed) <= 6, missed


def test_sentences_about_secrets_that_tell_none_are_left_alone() -> None:
    harmless = rows("harmless.jsonl")
    wrong = [row["text"] for row in harmless if SCANNER.secrets(row["text"])]
    assert len(harmless) == 200 and len(wrong) <= 2, wrong


@pytest.mark.parametrize("lang", ["en", "de", "fr", "es", "pt", "ru", "zh", "ja"])
def test_most_of_every_language_is_recognised(lang: str) -> None:
    told = [row for row in rows("secret.jsonl") if row["lang"] == lang]
    found = [row for row in told if row["secret"] not in SCANNER.redacted(row["text"])]
    assert len(found) >= 0.6 * len(told)


@pytest.mark.parametrize("mark", [".", ",", ";", "!", "?", ":"])
def test_sentence_goes_on_after_a_redaction(mark: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert SCANNER.redacted(f"The token is {token}{mark} Always use tabs.").endswith(f"]{mark} Always use tabs.")


def alone(text: str) -> list[tuple[int, int, str]]:
    """What a scanner finds that has seen nothing else."""
    return RuleScanner().spans(text)


SENTENCES = [row["text"] for name in ("secret.jsonl", "harmless.jsonl") for row in rows(name)] + [
    "U盾的PIN码是604913,输错三次就锁了",
    "the encryption key for the backups (restic) is gYp2-Lm0Q-sV7e-Rk19, without it nothing can be restored",
]


def test_answer_does_not_depend_on_how_much_was_looked_through_before() -> None:
    warm = RuleScanner()
    for number in range(60):
        warm.spans(f"note {number}")
    assert [text for text in SENTENCES if warm.spans(text) != alone(text)] == []


@pytest.mark.parametrize("before", ["go on with a11", "without a key", "the secret of the", "use it as", "password"])
def test_answer_does_not_depend_on_the_text_before_in_the_same_pass(before: str) -> None:
    sizes = (10_000, 10_000)
    pairs = [(text, cleaned([before, text], [sizes, sizes], SCANNER)[1]) for text in SENTENCES]
    assert [text for text, found in pairs if found != cleaned([text], [sizes], SCANNER)[0]] == []


# Told by somebody who knew neither these rules nor the sentences above.
TOLD = {
    "Sorry forgot to tell you, the basic auth on preview is team:marmalade77": "marmalade77",
    "the OTP seed is JBSWY3DPK5XXE3DEJ5TE6QKU if you want to generate the codes yourself": "JBSWY3DPK5XXE3DEJ5TE6QKU",
    "die Passphrase für den SSH-Key heißt »Dackel tanzt nachts Polka 88«": "Dackel tanzt",
    "einer der Wiederherstellungscodes wäre 8F3K-L2QP-77XM, falls du aus dem Account fliegst": "8F3K",
    "on a remplacé le secret du webhook par mR7x0Qe2Lp9vTs hier soir": "mR7x0Qe2Lp9vTs",
    "entra con el usuario deploy y la clave Pajarito_4471": "Pajarito_4471",
    "si te pide el secreto del webhook pon e7Rt0qLm4ZxV9b": "e7Rt0qLm4ZxV9b",
    "you can log in as admin with Tr0ub4dor-Kestrel88 if the SSO is down": "Tr0ub4dor-Kestrel88",
    "connecte-toi en root avec Tournesol*1987 et relance le service": "Tournesol",
    "la phrase secrète de la clé GPG : cheval lune brouette violet 42": "42",
    'client = Client("AC001eaf576739d1b7f8f80122cf481688", "4f7d7474c0afee1587168fe491c08b52")': "4f7d7474",
}


@pytest.mark.parametrize("text", TOLD)
def test_told_in_other_words(text: str) -> None:
    assert TOLD[text] not in SCANNER.redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "log in as admin with your own account",
        "sign in as root with id_ed25519",
        "connect as postgres with psql-16.2",
        "the basic auth on preview is broken: see http://localhost:8080",
        "the user deploy and the key user_123 are both in the table",
        "replace the key by primary_key2 in the schema",
        "put the token in src/auth/token2.py",
    ],
)
def test_logins_and_keys_without_a_secret_are_left_alone(text: str) -> None:
    # In a process that has read nothing yet, and in one that has read much.
    assert RuleScanner().redacted(text) == text
    assert SCANNER.redacted(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the passphrase is tiger lamp seven ocean", "tiger lamp"),
        ("btw our backup passphrase is walrus copper ladder mint", "walrus copper"),
        ("la frase secreta es tigre verano cobre luna", "tigre verano"),
    ],
)
def test_phrase_of_plain_words_behind_is(text: str, words: str) -> None:
    assert words not in SCANNER.redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "the passphrase is stored in the keychain of the build machine",
        "the passphrase is required before every deploy",
        "the passphrase is wrong when the agent restarts",
        "the passphrase is optional here",
        "the passphrase is asked for twice by the signing tool",
        "a passphrase is better than a password",
    ],
)
def test_what_is_said_of_a_phrase_is_left_alone(text: str) -> None:
    assert SCANNER.redacted(text) == text


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("het wachtwoord is Zomer!2024", True),
        ("lösenordet är Sommar!2024", True),
        ("hasło do serwera to Zamek!2024", True),
        ("hasło: Zamek!2024", True),
        ("пароль от базы Zima2024!x", True),
        ("salasana on Kesa2024!", True),
        ("비밀번호는 Yeoreum2024!", True),
        ("https://api.telegram.org/bot429248758:fIJFZymYWU7otMdRzDTn7qLWaYyDIfIZwXe/getMe", True),
        ("het wachtwoord moet minstens 12 tekens hebben", False),
        ("hasło musi mieć 8 znaków", False),
        ("lösenordet ska bytas var 90:e dag", False),
        ("пароль от базы лежит в vault", False),
        ("salasana vaihdetaan 30 päivän välein", False),
        ("비밀번호는 8자 이상이어야 합니다", False),
    ],
)
def test_passwords_are_known_by_their_name_in_more_languages(text: str, is_told: bool) -> None:
    assert bool(RuleScanner().secrets(text)) is is_told
