"""What a redaction takes out: all of the secret, whatever stands around it, and nothing else."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest

from byheart.storage.scanners import disguises
from byheart.storage.scanners.scanner import RuleScanner
from tests.storage.scanners.test_scanner import TOKENS

V = "k9Rt2mQx7LpW4zVb"
GITHUB = TOKENS["github-token"]

# A text, what must be gone from it, and what must stay.
CASES: list[tuple[str, list[str], list[str]]] = [
    # The secret itself, not only the words that announce it.
    ("apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  conn: Zitr0ne!Kuchen77\n  two: aGVsbG8gd29ybGQ=\n", ["Zitr0ne", "aGVsbG8"], ["name: db"]),
    ("apiVersion: v1\ndata:\n  conn: Wml0cjBuZSFLdWNoZW4=\nkind: Secret\nmetadata:\n  name: db\n", ["Wml0cjBu"], ["name: db"]),
    ('{"apiVersion": "v1", "kind": "Secret", "data": {"conn": "Wml0cjBuZSFLdWNoZW4="}}', ["Wml0cjBu"], ["apiVersion"]),
    ("PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: me@host\nPublic-Lines: 1\nAAAAB3Nz\nPrivate-Lines: 2\nAAABAQCxk9Rt2mQx7LpW4zVbQ1w2E3r4T5y6U7i8O9p0\nZxCvBnMk9Rt2mQx7LpW4==\nPrivate-MAC: 0123456789abcdef0123456789abcdef01234567\nend", ["AAABAQCx", "ZxCvBnM"], ["end"]),
    (f"$password = ConvertTo-SecureString '{V}' -AsPlainText -Force", [V], ["-AsPlainText"]),
    # Nothing of the next line.
    (f"DB_HOST=localhost\nDB_PASSWORD={V}\nDB_PORT=5432\n", [V], ["DB_HOST=localhost", "DB_PORT=5432"]),
    *((f"API_TOKEN={V}\n{line}\n", [V], [line]) for line in ("src/main2.py", "LOG_LEVEL=debug2", "python3.11", "test_utils2.py", "v1.2.3-rc1", "AWS_REGION=eu-west-1", "README2.md")),
    (f"{GITHUB}\nsha256-file1.txt\nserver01.example.org\nHOST=web-01", [GITHUB], ["sha256-file1.txt", "server01.example.org", "HOST=web-01"]),
    # Nothing of what goes on in the same word.
    (f"https://x.example/?api_key={V}&page=2&lang=en", [V], ["&page=2&lang=en"]),
    (f"{{token: {V}}}", [V], ["}"]),
    (f"[token={V}]", [V], ["]"]),
    (f"**token={V}**", [V], ["**"]),
    (f"export API_KEY={V}&&echo done", [V], ["&&echo done"]),
    (f"API_KEY={V}|tee x", [V], ["|tee x"]),
    (f"API_KEY={V}，然后", [V], ["，然后"]),
    (f"token={V}—then", [V], ["—then"]),
    (f'{{"cmd":"password={V}\\nDB_PORT=5432\\n"}}', [V], ["DB_PORT=5432"]),
    (f"<password>{V}</password>", [V], ["<password>", "</password>"]),
    ("My SSN is 536-90-4399 here.", ["536-90-4399"], [" here."]),
    ("Passport number: C01X00T47 and then go home", ["C01X00T47"], ["and then go home"]),
    ("amqp://u:pw12xyz@h1:5672,amqp://u:pw34xyz@h2:5672/vh", ["pw12xyz", "pw34xyz"], ["h1:5672", "h2:5672/vh"]),
    ("https://user:pw12xyz@host/path?mail=bob@example.org&x=1", ["pw12xyz"], ["host/path?mail=bob@example.org&x=1"]),
    ("Is the password Gr4peFru1t7? Ask Bob.", ["Gr4peFru1t7"], ["? Ask Bob."]),
    # All of it, in escapes and over lines.
    ("%44%42%5F%50%41%53%53%57%4F%52%44%3D%35%6B%39%52%74%32%6D%51%78%37%4C%70%57%39", ["%39"], []),
    (f"> token {GITHUB[:20]}\n> {GITHUB[20:]} ok", [GITHUB[:20], GITHUB[20:]], ["ok"]),
    (f"+ token {GITHUB[:20]}\n+ {GITHUB[20:]} ok", [GITHUB[:20], GITHUB[20:]], ["ok"]),
    (f"│ {GITHUB[:20]} │\n│ {GITHUB[20:]} │", [GITHUB[:20], GITHUB[20:]], []),
    (f"key = '{GITHUB[:20]}' + '{GITHUB[20:]}'", [GITHUB[:20], GITHUB[20:]], []),
    (f"\x1b[1mDB_PASSWORD\x1b[0m\x1b[2m=\x1b[0m\x1b[33m{V}\x1b[0m end", [V], ["end"]),
    ('password = "abc\\"def99xyz" # x', ["def99xyz"], ["# x"]),
    # Tables: below a column's name, or beside a row's.
    ("| service | user | password | note |\n|---|---|---|---|\n| mq | events | Qu1ll-Basin_20 | in May |\n", ["Qu1ll-Basin"], ["events", "| in May |"]),
    ("host,port,username,password,env\ndb1.corp.local,5432,reporting,Sl8te&Harbor,prod\n", ["Sl8te"], ["reporting,", ",prod"]),
    ("| DB_PASSWORD | Qu1ll-Basin_20 |\n", ["Qu1ll"], ["| DB_PASSWORD |"]),
    (" user | password\n------+----------------\n app  | Qu1ll-Basin_20\n(1 row)\n", ["Qu1ll"], ["app", "(1 row)"]),
    # Short names, changes and lists, commands.
    ('{"user": "noreply", "pass": "4TmHvLcf5R0o", "port": 587}', ["4TmHv"], ['"port": 587']),
    ("smtpPass: Qu1ll-Basin_20\n", ["Qu1ll"], ["smtpPass: "]),
    ("password changed: Autumn!2291x -> Spring!4478y", ["Autumn!2291", "Spring!4478"], []),
    ("net use Z: \\\\fs01\\share /user:CORP\\svc_backup Plum^Orchard19", ["Plum^Orchard"], ["/user:CORP"]),
    ("keytool -list -keystore k.jks -storepass Plum7Orchard19", ["Plum7"], ["k.jks"]),
    ("Das Passwort für den Server lautet übrigens Kupfer#Dach91 – bitte ändern.", ["Kupfer#Dach91"], ["bitte"]),
    ("seed phrase: gravel tumble ocean orbit velvet cactus lizard hammer thunder pilot wagon frost", ["gravel tumble", "wagon frost"], []),
    ("apiVersion: v1\ndata:\n  conn: Wml0cjBuZSFLdWNoZW4=\nkind: Secret\n", ["Wml0cjBu"], ["\nkind: Secret"]),
    # An earlier noun hides nothing.
    ("I have reset the password for the staging machine twice now because nobody in the team wrote it down anywhere and the password is Gr4peFru1t77x", ["Gr4peFru1t77x"], ["staging machine"]),
    ("the pass rate is fine and the password is Gr4peFru1t77x", ["Gr4peFru1t77x"], ["pass rate"]),
    ("Please do not rotate the api key before the release as the mobile clients would all stop working at once and the api key is 7hGk29sLmQ0x", ["7hGk29sLmQ0x"], ["rotate"]),
    ("the password on 10.0.0.5 is Gr4peFru1t77x", ["Gr4peFru1t77x"], ["10.0.0.5"]),
    ("the password for user bob@example.com is Gr4peFru1t77x", ["Gr4peFru1t77x"], ["bob@example.com"]),
    ("I changed the admin password from Spring#2023x to Summer#2024y yesterday.", ["Spring#2023x", "Summer#2024y"], ["yesterday."]),
    ("Пароль к базе — Берёза!2020", ["Берёза!2020"], ["Пароль"]),
    ("Кодовая фраза: синий слон летит домой", ["синий слон"], []),
    ("Login is bob@example.com, password's m0untain_goat7.", ["m0untain_goat7"], ["bob@example.com"]),
    ("senha do wifi: cafe_com_leite99", ["cafe_com_leite99"], []),
    ("ssh into the box as deploy with pass Br1dge0ver!Troubled", ["Br1dge0ver!Troubled"], ["deploy"]),
    (f"Use {'aB3dE5gH7j' * 15} as the password for it.", ["aB3dE5gH7j"], ["for it."]),
    # Letters alone, mixed as in no name.
    ("      MYSQL_ROOT_PASSWORD: ZWScLgBPYjWQsRFozE", ["ZWScLgBP"], []),
    ("client_secret=uSEdKHoVPtOpBfsVgB", ["uSEdKHoV"], []),
    # Places.
    *((text.replace("P_", V), [V], []) for text in (
        '- name: DB_PASSWORD\n  value: "P_"', '{"value":"P_","name":"API_TOKEN"}', 'variable "db_password" {\n  type    = string\n  default = "P_"\n}',
        "password:\n  P_\nuser: x\n", "passwords:\n  - P_\n", "API_KEY ?= P_", 'ssid="x"\n psk="P_"', "<key>ApiToken</key>\n<string>P_</string>",
        "redis-cli -h cache -a P_ ping", "openssl enc -aes-256-cbc -pass pass:P_", "echo P_ | sudo -S apt update", "echo 'root:P_' | chpasswd",
        "echo P_ | docker login -u me --password-stdin", "zip -P P_ a.zip b", "7z a -pP_ a.7z", "htpasswd -bc f bob P_", "ldapsearch -x -w P_ -b dc=x",
        "sqlplus scott/P_@orcl", "jdbc:oracle:thin:scott/P_@//h", "const s = process.env.JWT_SECRET || 'P_'", "jwt.sign(payload, 'P_', opts)",
        "requests.get(u, auth=('bob', 'P_'))", 'req.SetBasicAuth("bob", "P_")', "new mysqli('localhost','root','P_','db')", 'DriverManager.getConnection(url, "scott", "P_")',
        'public string ApiKey { get; set; } = "P_";', "CREATE USER 'a'@'%' IDENTIFIED BY 'P_';", "enable secret 0 P_", "username admin privilege 15 secret 0 P_",
        "Set-Cookie: session=P_; Path=/", "password: str = 'P_'", "secret_key = b'P_'", "define('DB_PASSWORD', 'P_');", 'ds.setPassword("P_");',
        "GH_PAT=P_", "user_pat: P_1", 'my_tokens_prod = "P_"', '"tokens_a": "P_"', "tokens_master: P_",
    )),
]  # fmt: skip

HARMLESS = [
    "loss: 6.666666666666667", "pi**2/6 = 1.6449340668482264", "def test_ScalarFunctionNoReferenceCycle():", "test_badandgoodsurrogateescapeexceptions PASSED",
    "netrc_auth = get_netrc_auth(url)", "uses: docker://alpine:3.18@sha256:abc", "http://localhost:3000,bob@example.org",
    "    def visit_Pass(self, node: cst.Pass) -> None:", "password: _PasswordType | None", "#password_encryption = scram-sha-256",
    "username, password = get_auth_from_url(proxy)", "self.master_user_password = master_user_password", 'type="password" id="login-password-2"',
    "pin: GPIO17", "The pin is connected to GPIO17 on the board.", "The pin version is numpy==1.26.4.", "The passphrase is derived with PBKDF2WithHmacSHA256 and 600000 iterations.",
    '"result_key": "deploymentConfigsList"', 'elif key == "BisectBatchOnFunctionError":', "from x import X25519PrivateKey, X25519PublicKey",
    '"encryptionKey": "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"', "Use KeePass2 as the password manager",
    "amqp://guest:guest@localhost:5672/", "User Id={user};Password={password};", '"password"=>"[FILTERED]"', "password_secret: db-credentials-prod",
    "| field | password | token |\n|---|---|---|\n| type | string | string |", "name,token,count\nalpha,word,12\nbeta,2026-01-02,3",
    '"input_tokens": 12345, "output_tokens": 678', "the usage shows total_tokens: 1234", "getpass('Enter your password: ')",
]  # fmt: skip


def warmed() -> RuleScanner:
    """A scanner that has seen enough to take its other way."""
    scanner = RuleScanner()
    for _ in range(45):
        scanner.spans("nothing to see")
    return scanner


WARM = warmed()


@pytest.mark.parametrize(("text", "gone", "stays"), CASES)
def test_redaction_takes_the_secret_and_nothing_else(text: str, gone: list[str], stays: list[str]) -> None:
    found = RuleScanner().redacted(text)
    assert not [each for each in gone if each in found], found
    assert not [each for each in stays if each not in found], found
    # The same, however many texts were looked through before, and behind a long one.
    assert WARM.redacted(text) == found
    behind = "\n".join(f"line {number} of a log" for number in range(1_500)) + "\n\n" + text
    assert not [each for each in gone if each in WARM.redacted(behind)]


@pytest.mark.parametrize("text", HARMLESS)
def test_everyday_code_and_prose_is_left_alone(text: str) -> None:
    assert RuleScanner().redacted(text) == text
    assert WARM.redacted(text) == text


@pytest.mark.parametrize("offset", [0, 700, 1_500, 2_800])
def test_long_token_without_blanks_around_it_is_found_at_every_place(offset: int) -> None:
    dice = random.Random(offset)
    letters = string.ascii_letters + string.digits
    token = "eyJ" + "".join(dice.choices(letters, k=600)) + "." + "".join(dice.choices(letters, k=2_500)) + "." + "".join(dice.choices(letters, k=400))  # fmt: skip
    text = ('{"a":1,"b":[1,2,3]},' * 5_000)[: 65_536 - offset] + '"tk":"' + token + '"},'
    assert token[-100:] not in WARM.redacted(text)
    assert token[1_000:1_100] not in WARM.redacted(text)


def test_large_file_in_base64_is_looked_through_to_its_end() -> None:
    import base64

    plain = "lorem ipsum dolor sit amet " * 14_000 + f" token {GITHUB} end"
    packed = base64.b64encode(plain.encode()).decode()
    assert packed[-60:-10] not in WARM.redacted(packed)


def test_lines_that_may_go_on_in_the_next_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting:
        steps = 0
        real = disguises._TOKEN_LINE

        def match(self, *given: Any) -> Any:
            self.steps += 1
            return self.real.match(*given)

    counting = Counting()
    monkeypatch.setattr(disguises, "_TOKEN_LINE", counting)
    dice = random.Random(3)
    lines = ["ghp_" + "".join(dice.choices(string.ascii_letters + string.digits, k=36)) for _ in range(500)]
    assert WARM.spans("\n".join(lines))
    # Several rules and spellings see each line; none of them sees the rest of the text from each.
    assert counting.steps < 20 * len(lines)


def test_table_whose_every_line_is_a_head_is_read_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    line = disguises._line

    def counted(content: bytes, start: int) -> tuple[str, int]:
        read.append(start)
        return line(content, start)

    monkeypatch.setattr(disguises, "_line", counted)
    RuleScanner().spans("password,name\n" * 3_000)
    # Pieces overlap a little.
    assert 0 < len(read) < 10_000


@pytest.mark.parametrize("odd", ["ü", "\udcff", "密码表"])
def test_cell_is_found_behind_signs_of_several_bytes(odd: str) -> None:
    text = f"note,password,more\n{odd},Qu1ll-Basin_20,{odd}\n"
    assert RuleScanner().redacted(text) == f"note,password,more\n{odd},[REDACTED:secret-in-table],{odd}\n"
