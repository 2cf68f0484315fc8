"""Secrets that somebody tells in a sentence: "the api key is …", "пароль: …", "パスワードは … です".

A noun that names a secret, a few words, something that says "is", and a value that no sentence needs. What counts is the shape of
the value; the languages are needed only to know the noun and the link. Patterns run on UTF-8 bytes, so words that are not ASCII
are spelled as they stand, in both cases where they have two.
"""

from __future__ import annotations

import re

from byheart.storage.scanners.rules import UUID, ScanRule, codelike, digits_in, entropy, placeholder, tokenlike
from byheart.text.deferred import deferred

# What may be any word at all once it is said to be one.
_PASSWORDS = (
    r"pass[ -]?(?:word|phrase|code|wd|wort)s?|pwd|\bpw\b|\bpass\b|\bpin\b(?:[ -]?code)?|kennwort|pa(?:ss|\xdf)wort|zugangscode|mot de passe|\bmdp|phrase de passe|code secret"
    r"|contrase(?:ñ|Ñ|n)as?|frase de (?:paso|contrase\S{1,3}a)|\bsenhas?|palavra[ -]?passe|пароль|Пароль|ПАРОЛЬ|пароля|паролем|парольная фраза|пин-?код|ПИН-?код"
    r"|phrase secr(?:\xc3\xa8|e)te|frase secreta|кодов\S{1,6} фраз\S{1,4}|парольн\S{1,6} фраз\S{1,4}|密码|密碼|口令|パスワード|パスフレーズ|暗証番号|合言葉"
    r"|wachtwoord(?:en)?|wachtzin|l(?:ö|Ö)senord(?:et)?|passord(?:et)?|adgangskode(?:n)?|kodeord(?:et)?|salasana|has(?:ł|Ł)[oae]|\bheslo|\bhesla|\bşifre(?:si)?|\bparola|jelszó|parol(?:ă|a)\b|κωδικ(?:ό|ο)ς|비밀번호|암호|mật khẩu|kata sandi|पासवर्ड|كلمة (?:المرور|السر)"
)
# What is made by a machine, and looks it.
_ENGLISH_KEYS = (
    r"(?:api|access|auth|secret|private|signing|signature|encryption|master|service|account|admin|licen[cs]e|product|activation|webhook|deploy|bot|app|client|shared|session|bearer|refresh|recovery|backup)[ _-]?(?:key|token|secret|code|pat)s?"
    r"|\btoken|\bsecret|\bkeys?\b|\bcred(?:ential)?s?"
)
_OTHER_KEYS = (
    r"api-?schl(?:ü|Ü|ue)ssel|schl(?:ü|Ü|ue)ssel|zugriffstoken|geheimnis|wiederherstellungscode|zugangsdaten"
    r"|cl(?:é|É|e)s? (?:d['’]api|api|secr(?:è|e)te|priv(?:é|e)e|de \w{1,20}|d['’]\w{1,20})|\bcl(?:é|É)|jeton|code de r(?:é|e)cup(?:é|e)ration|identifiants"
    r"|\bclave|\bllave|\bsecreto|c(?:ó|o)digo de recupera\S{1,6}|credenciales|\bchave|\bsegredo|credenciais"
    r"|ключ|Ключ|КЛЮЧ|токен|Токен|секрет|Секрет|код восстановления|密钥|秘钥|密鑰|令牌|凭证|憑證|恢复码|激活码|许可证|キー|トークン|シークレット|秘密鍵|鍵|リカバリーコード|リカバリコード"
)
_KEYS = rf"{_ENGLISH_KEYS}|{_OTHER_KEYS}"
# Names that nothing else has.
_NAMED = (
    r"(?:api|access|auth|secret|signing|encryption|master|licen[cs]e|activation|webhook|deploy|bot|client|refresh|recovery)[ _-]?(?:key|token|secret|code)s?|password|passphrase|passwort|kennwort|mot de passe|contrase\S{1,3}a|senha"
    r"|webhook-?secret|api-?schl\S{1,3}ssel|cl(?:\xc3\xa9|e)s? (?:d['\xe2\x80\x99]api|api|de \w{1,20}|d['\xe2\x80\x99]\S{1,20})|clave de \S{1,20}|chave (?:de|da) \S{1,20}|секрет|Секрет|токен|Токен|ключ \S{1,24}|Ключ \S{1,24}|пароль|Пароль|密钥|秘钥|令牌|密码|シークレット|トークン|APIキー|パスワード"
)
# What announces a secret, in a sentence or in a line of settings. How many tokens a model used announces nothing, and no more do
# keyboards, keywords and keymaps.
_KEYS_BUT_TOKENS = _KEYS.replace(r"|\btoken|", "|")
ANNOUNCING = rf"(?i)pass(?:[^ei]|$|e[^sd]|i[^n]|in[^g])|pwd|\bpsk\b|фраз|secret|token(?:[^s]|s[^\"_]|s?$|s[\"_][\w\"']*\s*[:=]\s*(?:[\"'A-Za-z]|[0-9]+[A-Za-z]))|(?-i:[Kk]eys?(?:[^a-z]|$)|KEYS?(?:[^A-Z]|$))|cred|bearer|log ?in|sign in|[_.\-]pat\b|{_PASSWORDS}|{_KEYS_BUT_TOKENS}|anmelden|einloggen|connexion|connecte|conecta|acceso|acced|entra|basic[ -]auth|ssh in|\bcle\s|войди|зайди|登录|ログイン|\b(?:otp|totp|2fa|mfa)\b"
# Words and signs that say "is"; and words that may stand between them and the value.
_LINKS = (
    r"[=:>]|\xef\xbc\x9a|\xe2\x86\x92|\xe2\x80[\x93\x94]|['\xe2\x80\x99]s\s|c['\xe2\x80\x99]est\s|\b(?:is|are|was|were|be|being|reads|equals|use|using|with|to|from|ist|lautet|lauten|war|sind|hei(?:\xc3\x9f|ss)t|mit|est|sont|sera|avec|es|son|era|ser(?:\xc3\xa1|a)|con|com|ficou|como|auf|para|par|por|durch|w(?:\xc3\xa4|ae)re|serait|ser(?:\xc3\xad|i)a|enter|put|pon|usa|mets|nimm|gib|digite|coloque)\s|\xc3\xa9\s"
    r"|\b(?:jest|är|è)\s|(?:는|은)\s|от \S{1,40} |для \S{1,40} |введи|укажи|это|теперь|такой|такая|будет|равен|на |输入|填|改成了?|改为|设为|设置为|换成了?|を|是|为|為|は|が|に|「|『"
)
_FILL = r"(?:(?:now|still|currently|actually|just|set to|jetzt|aktuell|weiterhin|maintenant|toujours|actuellement|ahora|actualmente|agora|atualmente|теперь|сейчас|现在|今は)\s{1,3})?"
# What stands between a noun and its value. A sentence may say a lot in between, but it does not end: no pattern counts there, so
# that one pass of an automaton does it.
_OPENED = r"(?:[ \t\"'`*(\[]|\xe3\x80[\x8c\x8e]|\xe2\x80[\x9c\x9e\x98]|\xc2\xab)*"
_BETWEEN = rf"(?:(?:[^\n.!?;:=\[\]{{}}<>|]|\.[^\s.])*?(?:{_LINKS})[ \t]{{0,3}}{_FILL}|[ \t]{{1,3}}){_OPENED}"
_MOST_BETWEEN = 90
# A word with a digit in it, or with what passwords have and words do not.
_ANY = r"""(?:[!#-&*+\-./0-9:=?@A-Z\\^_a-z|~]|\xc3[\x80-\xbf]|[\xd0\xd1][\x80-\xbf])"""
_WORDY = rf"({_ANY}*[0-9@#$%^&*+~!_\-]{_ANY}*)"
_NUMBERED = rf"({_ANY}*[0-9]{_ANY}*)"

_ALGORITHM = deferred(
    r"(?i)(?:sha|md|aes|des|utf|http|ip|ipv|bcrypt|scrypt|argon|pbkdf|rsa|rfc|oauth|oidc|base|tls|ssl|hs|rs|es|ps|ed|hmac|crc|blake|chacha|ascii|latin|iso|log4j|web|mp|gpt|claude|llama|gemini|py|python|node|postgres|mysql|redis|ec|gcp|aws)"
    r"[-_]?v?\d[\w.-]*|v\d[\d.]*(?:-\w+)?|[hsxpo]\d{1,4}|k8s|i18n|l10n|a11y"
)
# How a key is made, not what it is; and names of the thing itself.
_MADE_BY = deferred(
    r"(?i)pbkdf2|hmac|sha-?(?:1|2|224|256|384|512)|aes-?\d|argon2|bcrypt|scrypt|(?:^|[-_])(?:password|passwd|pwd)(?:[-_]|$)|=="
)
_FILE = deferred(r"[\w./\\@~-]*\.[A-Za-z]{1,5}(?::\d+)?|[\w./\\@~-]*\.(?:mp[34]|h5|7z|bz2|woff2|utf8)")
_NAMES = deferred(
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+"
)
_QUANTITY = deferred(
    r"[+-]?\d+(?:[.,:/-]\d+)*[a-zA-Z%°]{0,12}|v?\d+(?:\.\d+)+[\w.-]*|\d{1,4}(?:[-/.]\d{1,4}){1,3}|#\d+"
)
_SYMBOL = deferred(r"[@#$%^&*+=~!?]")
_LONGEST_NAME = 14
_ODD = deferred(r"[\d@#$%^&*]")


def _bare(value: str) -> str:
    """A value without the punctuation of the sentence it stands in."""
    value = value.rstrip(".,;:)]}'\"*`")
    # A sign of exclamation may be a password's; where others stand in it, or digits, it is.
    return value if value[-1:] not in "!?" or _ODD.search(value) else value.rstrip("!?")


def _is_speech(value: str) -> bool:
    """Whether a value is something that sentences speak of: a name in code, a file, an address, a number, a date, a format."""
    pieces = re.split(r"[-_/]", value)
    if _MADE_BY.search(value):
        return True
    if all(len(piece) <= _LONGEST_NAME and (piece.isalpha() or _ALGORITHM.fullmatch(piece)) for piece in pieces):
        # Words joined by underscores are a name in code; by hyphens they may be a phrase.
        return "_" in value or any(map(str.isdigit, value))
    if re.match(r"(?i)(?:sha\d+|md5|blake\w*|crc\d*):", value):
        return True
    if "|" in value and placeholder(value.partition("|")[0]):
        return True
    is_dotted = "." in value and any(map(str.isdigit, value)) and value.replace(".", "").isalnum()
    if (
        placeholder(value)
        or (codelike(value) and not is_dotted)
        or "://" in value
        or value.startswith(("/", "~/", "./", "--", "-", "="))
    ):
        return True
    if _FILE.fullmatch(value) and not re.search(r"\d[A-Za-z]|[A-Z]\d", value.rsplit(".", 1)[0]):
        return True
    return bool(_NAMES.fullmatch(value) or _QUANTITY.fullmatch(value)) or value.count("/") > 1 or "::" in value


# Keys that open nothing.
_TABLES = frozenset("cache primary foreign partition sort public map dict object s3 row idempotency i18n translation csrf design css color colour syntax lexer next unexpected".split())  # fmt: skip
_PHRASES = deferred(r"(?i)(?:pass[ -]?phrase|phrase|frase|парольн|кодов|パスフレーズ|合言葉)")
# A list or an object of some language of data.
_DATA = deferred(r"""["'`]\s*[,:)]\s*["'`\w]""")
# A line of settings or of code, for which there are rules of their own.
_ASSIGNED = deferred(r"""(?i)\w{1,40}["'`\])]{0,3}\s*(?:[:=]|=>|->)\s*["'`(\[]*""")
# Codes that are handed out once, in groups of letters and digits.
_RECOVERY = deferred(r"(?i)(?:recovery|backup|wiederherstell|code de r|c.digo de rec|код восст|恢复码|リカバリ)")
_GROUPS = deferred(r"[A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{3,8})+")
# What comes after "with the …" is not the subject of what follows.
_OBJECT = deferred(r"(?i)\b(?:with|without|whose|mit|ohne|avec|sans|con|sin|com|sem)\s+(?:\S+\s+){0,3}$")
_SAYS_IS = deferred(r"(?i)\b(?:is|are|was|were|ist|sind|war|est|sont|es|son|era|é)\s+\S*$")


def _told_password(value: str, match: str, before: str) -> bool:
    """Whether what is said to be a password is one: nearly everything with a digit or a sign in it is."""
    del before
    between = match[: -len(value)]
    value = _bare(value)
    if (
        len(value) < 4
        or len(between) > _MOST_BETWEEN
        or _DATA.search(between)
        or re.match(r"\w+@|\w+[_-](?:secret|ref)\b", match)
    ):
        return False
    is_pin = bool(re.match(r"(?i)pin(?![a-z])|暗証番号|пин|code secret", match))
    if value.isdigit():
        return len(value) <= 12 and (is_pin or len(value) >= 6) and len(set(value)) > 1
    # A name in code with a digit in it may be a password where nothing but a verb or a colon stands before it.
    is_said = bool(re.search(r"(?i)(?:['’]s|:|\b(?:is|was|ist|lautet|est|es|é))[\s\"'`]*$", between))
    is_named = is_said and digits_in(value) > 0 and bool(re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+", value))
    if len(value) < 5 or is_pin or (_is_speech(value) and not is_named):
        return False
    is_strong = bool(_SYMBOL.search(value)) and digits_in(value) > 0 and not value.islower()
    if re.match(r"(?i)pass\b", match) and not (
        is_strong or re.match(r"(?i)pass\s*(?:[:=]|(?:is|was|for|to)\b)", match)
    ):
        # Tests pass, and things are passed on.
        return False
    letters = sum(map(str.isalpha, value))
    if any(map(str.isdigit, value)):
        if re.fullmatch(r"[a-z]+-?\d{1,2}", value) and not _is_linked(between):
            return False
        return letters > 0 and not re.fullmatch(r"\d+(?:st|nd|rd|th|[a-z]{1,6})", value)
    if _SYMBOL.search(value.strip("*_")):
        return letters >= 4 and not re.fullmatch(r"[A-Za-z-]+=?[A-Za-z-]*", value)
    parts = re.split(r"[-_.]", value)
    # Words that are joined are a phrase where there are many, or where one was announced.
    least = 3 if _PHRASES.match(match) or re.search(r"[=:：]\s*\W*$", between) else 4
    return (
        (_is_linked(between) or bool(_PHRASES.match(match)))
        and len(parts) >= least
        and all(part.isalpha() for part in parts)
        and len(value) >= 15
    )


_SIGN, _MARK_OR_LETTER = r"[@#$%^&*!~+]", r"""[^\s"'`<>(){}\[\]|\\]"""
_MARKED = rf"{_MARK_OR_LETTER}*(?:[0-9]{_MARK_OR_LETTER}*{_SIGN}|{_SIGN}{_MARK_OR_LETTER}*[0-9]){_MARK_OR_LETTER}*"


def _strong(value: str, match: str, before: str) -> bool:
    """Whether a word somewhere behind the name of a password is as mixed as nothing but a password."""
    del match, before
    value = _bare(value)
    is_mixed = any(map(str.islower, value)) and any(map(str.isupper, value)) and digits_in(value) > 0
    return 8 <= len(value) <= 40 and is_mixed and not _is_speech(value) and "@" not in value[1:-4]


def _is_linked(between: str) -> bool:
    """Whether more than a noun and a blank stand in front of a value."""
    return len(between.split()) > 1 or bool(re.search(r"[=:：→—>是为為はがに]", between))


def _told_key(value: str, match: str, before: str) -> bool:
    """Whether what is said to be a key is one: only what looks made by a machine."""
    between = match[: -len(value)]
    value = _bare(value)
    if _RECOVERY.match(match) and _GROUPS.fullmatch(value) and len(between) <= _MOST_BETWEEN:
        return True
    if len(value) < 8 or len(between) > _MOST_BETWEEN or (value.isdigit() and len(value) < 16) or codelike(value):
        return False
    if _ASSIGNED.fullmatch(between) or _DATA.search(between) or _is_speech(value):
        return False
    if re.split(r"[\s_-]", before.rstrip(" _-"))[-1].casefold() in _TABLES:
        return False
    if _OBJECT.search(before.rpartition("\n")[2]) and _SAYS_IS.search(between + "x"):
        return False
    if UUID.fullmatch(value):
        # Keys of tables and caches are often ids.
        return not re.match(r"(?i)(?:keys?|clave|chave|llave|schlüssel|ключ|キー|鍵|clé)(?!\w)", match)
    digits, letters = digits_in(value), sum(map(str.isalpha, value))
    if not digits or not letters:
        return tokenlike(value, least=20) or digits == len(value) >= 16
    pieces = [piece for piece in re.split(r"[-_./:]", value) if piece]
    if len(pieces) > 1 and all(piece.isalpha() or piece.isdigit() or len(piece) < 4 for piece in pieces):
        return _is_code(pieces)
    if re.fullmatch(r"[A-Za-z]+\d{1,4}", value):
        return False
    return entropy(value) >= 2.6 or len(value) >= 20


def _random(value: str, match: str, before: str) -> bool:
    """Whether a word somewhere behind the name of a secret can only be it: long, and of no order that anything else has."""
    del before
    between = match[: -len(value)]
    if len(between) > _MOST_BETWEEN or _is_speech(value) or _ID_BEFORE.search(between) or UUID.search(value):
        return False
    digits, letters = digits_in(value), sum(map(str.isalpha, value))
    if digits < 3 or letters < 3 or (len(value) in (40, 64) and re.fullmatch(r"[0-9a-f]+", value)):
        return False
    pieces = [piece for piece in re.split(r"[-_/=+]", value) if piece]
    return max(map(len, pieces)) >= 12 and tokenlike(value, least=16)


_ID_BEFORE = deferred(
    r"(?i)\b(?:commit|sha\d*|hash|digest|md5|checksum|uuid|id|etag|revision|rev|ref|blob|object|image|tag|request|trace|span|run|build|session)[\s:=#`'\"]*$"
)


_AS = r"as|is|are|als|ein, das ist|das ist|ist|comme|est|como|es|это"


def _told_before(value: str, match: str, before: str) -> bool:
    """Whether what is told before the name of a secret is one: "use X as the password"."""
    del before
    value = _bare(value)
    if value.isdigit():
        return 4 <= len(value) <= 12 and bool(re.search(r"(?i)\bpin\b", match))
    if len(value) < 5 or _is_speech(value):
        return False
    if re.search(r"(?i)\s(?:manager|store|vault|policy|field|prompt|generator|type|name)$", match):
        return False
    is_plain = re.fullmatch(r"[a-z]+-?\d{1,3}|\d+[a-z]{1,8}", value)
    return bool(digits_in(value)) and any(map(str.isalpha, value)) and not is_plain


def _is_code(pieces: list[str]) -> bool:
    """Whether pieces are groups of a recovery code or a licence key: of one length, and no words."""
    whole = "".join(pieces)
    return len(pieces) >= 3 and len({len(piece) for piece in pieces}) == 1 and sum(map(str.isdigit, whole)) >= 3


# Words that say something of a phrase: one that has any of them is none.
_OF_A_PHRASE = frozenset(
    "the and that this with not are was has from they will can all its one use when what how why who then than them some more also just make into out our your his her their there here "
    "for must should only too very never always now still same either both part wrong missing empty unknown public private good bad long short random different available correct valid "
    "invalid safe secure secret known weak strong plain text used kept read sent stored set required optional needed you any each every none nothing something elsewhere below above "
    "about before after until under over again ever yet but because where which while pas dans une les des pour est sur avec nicht der die das ein eine mit auf wird ist und para una los las con por que del".split()
)
_FORMED = re.compile(r"(?:ed|ing|ly|able|ible)$")


def _plain_phrase(value: str, match: str, before: str) -> bool:
    """Whether plain words behind "the passphrase is" are one: words that nobody says in a row, none of which says anything of it."""
    del match, before
    every = [word.casefold() for word in re.split(r"[ -]", value) if word]
    return len(set(every)) >= 3 and not any(word in _OF_A_PHRASE or _FORMED.search(word) for word in every)


def _told_phrase(value: str, match: str, before: str) -> bool:
    """Whether words in quotation marks that are said to be a password are one."""
    del before
    if (
        len(match) - len(value) > _MOST_BETWEEN
        or placeholder(value)
        or codelike(value)
        or _NAMES.fullmatch(value)
        or "://" in value
        or value.startswith(("/", ".", "-", "<", "$", "{"))
    ):
        return False
    words = value.split()
    if len(words) == 1 and value.count("-") >= 2 and _PHRASES.match(match):
        return all(part.isalpha() for part in value.split("-"))
    if len(words) == 1:
        # A word by itself is a name or an example, unless its letters are mixed as no name's are.
        return (
            len(value) >= 6 and value.isalpha() and not value.islower() and not value.istitle() and not value.isupper()
        )
    is_plain = all(word.isalpha() and word.islower() for word in words)
    return 3 <= len(words) <= 8 and bool(_PHRASES.match(match) or is_plain) and value[-1] not in ".!?"


def _credentials(value: str, match: str, before: str) -> bool:
    """Whether what follows a user's name is their password."""
    del before
    # A name and a password in one word are told as they are typed.
    is_pair = bool(re.search(r"\w[:/]$", match[: -len(value)])) and len(value) >= 8
    value = _bare(value)
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if is_pair and mixed and re.fullmatch(r"[a-z]+\d{1,4}", value):
        return True
    return len(value) >= 6 and mixed and not _is_speech(value) and not re.fullmatch(r"[a-z]+\d{1,2}|\d+[a-z]+", value)  # fmt: skip


# Words that stand in every text that a rule could speak of; a text without them is not looked through.
_PASSWORD_HINTS = tuple(
    (
        "pass|pwd|pw|pin|kennwort|mdp|phrase|code secret|zugangscode|contrase|frase|senha|"
        "palavra|парол|Парол|ПАРОЛ|кодов|пин|ПИН|密|口令|パス|暗証|合言|"
        "wachtw|wachtz|senord|adgangs|kodeord|salasana|hasł|Hasł|heslo|hesla|şifre|Şifre|parol|Parol|jelsz|Jelsz|κωδικ|Κωδικ|비밀번호|암호|kata sandi|पासवर्ड|كلمة"
    ).split("|")
)
_KEY_HINTS = tuple(
    (
        "key|token|secret|cred|schl|geheim|wiederher|zugang|clé|CLÉ|Clé|cle|jeton|code|identif|clave|llave|"
        "digo de|chave|segredo|ключ|Ключ|КЛЮЧ|токен|Токен|секрет|Секрет|код восст|密|秘|令牌|凭证|憑證|恢复码|激活码|许可证|"
        "キー|トークン|シークレット|鍵|リカバリ"
    ).split("|")
)
_LOGIN_HINTS = tuple(
    ("cred|basic|login|log in|sign in|anmelden|connex|connect|acceso|sesi|entrar|логин|войти|登录|ログイン").split("|")
)
_IN_QUOTES = r"""(?:"([^"\n]{5,80})"|'([^'\n]{5,80})'|`([^`\n]{5,80})`|“([^”\n]{5,80})”|„([^“”\n]{5,80})[“”]|«\s?([^»\n]{5,80}?)\s?»|»\s?([^«\n]{5,80}?)\s?«|「([^」\n]{5,80})」|『([^』\n]{5,80})』)"""
_THEN = rf"(?:(?:[^\n.!?;:=\[\]{{}}<>|]|\.[^\s.])*?(?:{_LINKS})\s{{0,3}}{_FILL}|\s{{1,3}})"


def prose_rules() -> list[ScanRule]:
    """The rules for what is told in words."""
    return [*_password_rules(), *_further_rules(), *_key_rules(), *_either_rules()]


def _password_rules() -> list[ScanRule]:
    return [
        ScanRule(
            name="password-in-prose",
            pattern=rf"(?i)(?:{_PASSWORDS}){_BETWEEN}{_WORDY}",
            hints=_PASSWORD_HINTS,
            group=1,
            accept=_told_password,
            trims=b".,;:?",
            is_loose=True,
            is_value=True,
            is_wordy=True,
            says="tells a password",
        ),
        ScanRule(
            name="passphrase-in-prose",
            pattern=rf"(?i)(?:{_PASSWORDS}){_THEN}{_IN_QUOTES}",
            hints=_PASSWORD_HINTS,
            group=-1,
            accept=_told_phrase,
            is_loose=True,
            is_wordy=True,
            says="tells a password",
        ),
        ScanRule(
            name="password-change",
            pattern=rf"(?i)(?:{_PASSWORDS}|{_KEYS})\b[^\n.!?;]*?\b(?:from|von|vom|de|desde|с)\s{{1,3}}[\"'`]?({_ANY}{{5,80}}[\"'`]?\s{{1,3}}(?:to|auf|zu|à|a|para|на)\s{{1,3}}[\"'`]?{_ANY}{{5,80}})",
            hints=(*_PASSWORD_HINTS, *_KEY_HINTS),
            group=1,
            accept=lambda value, *_: all(
                digits_in(each) > 0 and not _is_speech(_bare(each)) and any(map(str.isalpha, each))
                for each in (value.split()[0].strip("\"'`"), value.split()[-1].strip("\"'`"))
            ),
            is_loose=True,
            is_wordy=True,
            says="tells a password",
        ),
        ScanRule(
            name="phrase-behind-is",
            pattern=r"(?i)(?:pass[ -]?phrase|phrase de passe|frase de (?:paso|contrase\S{1,3}a)|phrase secr(?:\xc3\xa8|e)te|frase secreta)[^\n.:=]{0,30}?\s(?:is|was|ist|es|est|\xc3\xa9)\s{1,3}((?:[a-z\x80-\xff]{3,24}[ -]){2,7}[a-z\x80-\xff]{3,24})",
            hints=("phrase", "frase"),
            group=1,
            accept=_plain_phrase,
            is_wordy=True,
            says="tells a passphrase",
        ),
        ScanRule(
            name="phrase-after-a-colon",
            pattern=r"(?i)(?:pass[ -]?phrase|phrase de passe|frase de (?:paso|contrase\S{1,3}a)|phrase secr(?:\xc3\xa8|e)te|frase secreta|(?:К|к)одов\S{1,6} фраз\S{1,4}|(?:П|п)арольн\S{1,6} фраз\S{1,4})[^\n.:]{0,30}:[ \t]{1,3}((?:[a-z\x80-\xff]{3,24}[ -]){3,7}[a-z\x80-\xff]{3,24}(?:[ -][0-9]{1,6})?)",
            hints=("phrase", "frase", "фраз"),
            group=1,
            accept=lambda value, *_: len(value.split()) >= 4,
            is_wordy=True,
            says="tells a password",
        ),
    ]


def _further_rules() -> list[ScanRule]:
    return [
        ScanRule(
            name="last-password",
            # Where several are told, each rule above stops at the first.
            pattern=rf"(?i)(?:{_PASSWORDS})\b[^\n]{{0,120}}[\s\"'`=:(>]({_MARKED})",
            hints=_PASSWORD_HINTS,
            group=1,
            accept=_strong,
            trims=b".,;:?)",
            is_value=True,
            is_wordy=True,
            says="tells a password",
        ),
        ScanRule(
            name="seed",
            pattern=r"(?i)(?:(?:seed|recovery|mnemonic|secret)\s(?:phrase|words?)|mnemonic)\b[^\n:=]{0,30}[:=]?\s{1,3}[\"'`]?((?:[a-z]{3,8}\s){11,23}[a-z]{3,8})|(?:2fa|totp|otp|mfa|authenticator)\s(?:seed|secret|key)\b[^\n:=]{0,40}[:=]?\s{1,3}[\"'`]?((?:[A-Z2-7]{4}[ -]){3,}[A-Z2-7]{4}|[A-Z2-7]{16,64})|(?:recovery|backup)[ _-]codes?\b[^\n:=]{0,30}[:=]?\s{1,3}((?:[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}[,;]?\s{0,2}){2,})",
            hints=("phrase", "mnemonic", "2fa", "otp", "mfa", "authenticator", "y code", "p code", "y_code", "p_code"),
            group=-1,
            accept=lambda value, *_: digits_in(value) > 0 or len(value.split()) > 3,
            before=40,
            behind=260,
            says="tells a secret",
        ),
    ]


def _key_rules() -> list[ScanRule]:
    return [
        ScanRule(
            name="key-in-prose",
            # Behind an English word a sentence goes on with a blank; what does not is a name in code or in settings.
            pattern=rf"(?i)(?:(?:{_ENGLISH_KEYS})(?:\s{_OPENED}{_NUMBERED}|\s{_BETWEEN}{_NUMBERED}|(?:是|为|為|は|が)\s{{0,3}}{_OPENED}{_NUMBERED})|(?:{_OTHER_KEYS}){_BETWEEN}{_NUMBERED})",
            hints=_KEY_HINTS,
            group=-1,
            accept=_told_key,
            reach=60,
            trims=b".,;:!?",
            is_loose=True,
            is_value=True,
            is_wordy=True,
            says="tells a key",
        ),
        ScanRule(
            name="key-near-its-name",
            pattern=rf"(?i)(?:{_NAMED})[^\n.!?;]*?[\s\"'`=:(]([A-Za-z0-9+/_=\-]{{16,}})",
            hints=(*_PASSWORD_HINTS, *_KEY_HINTS),
            group=1,
            accept=_random,
            trims=b".,;:!?",
            is_loose=True,
            is_value=True,
            is_wordy=True,
            says="names a secret",
        ),
    ]


def _either_rules() -> list[ScanRule]:
    return [
        ScanRule(
            name="told-before-its-name",
            pattern=rf"(?i){_WORDY}[\"'`]?,?\s{{1,3}}(?:{_AS})\s{{1,3}}(?:[\w'\-]{{1,12}}\s{{1,3}}){{0,3}}?(?:{_PASSWORDS}|{_ENGLISH_KEYS})(?:\s(?:manager|store|vault|policy|field|prompt|generator|type|name))?",
            hints=(*_PASSWORD_HINTS, *_KEY_HINTS),
            group=1,
            accept=_told_before,
            is_wordy=True,
            says="tells a secret",
        ),
        ScanRule(
            name="credentials-in-prose",
            pattern=r"""(?i)\b(?:cred(?:ential)?s?|basic[ -]auth|log ?in|sign in|anmelden|connexion|acceso|entrar)\b[^\n.;]{0,24}?\s[\w.@\-]{2,40}\s{0,3}(?:/|:|\band|\bund|\bet|\by|,)\s{0,3}["'`]?([!#-&+-:=?-_a-z|~]{6,80})""",
            hints=_LOGIN_HINTS,
            group=1,
            accept=_credentials,
            is_loose=True,
            is_wordy=True,
            says="tells credentials",
        ),
        ScanRule(
            name="login-in-prose",
            # "log in as admin with …", "connecte-toi en root avec …"; and a user's name with the word that names their password.
            pattern=rf"(?i)(?:\b(?:log ?in|sign in|ssh in|connect|anmelden|einloggen|connecte\S{{0,6}}|con(?:\xc3\xa9|e)cta\S{{0,4}}|entrar?|acced\S{{1,4}}|войди|зайди|登录|ログイン)\S{{0,4}}[ \t][^\n.;:]{{0,24}}?\b(?:as|als|en|como|под|com o)\s[\w.@\-]{{2,30}},?\s(?:with|using|mit|avec|con|com|с)\s|\b(?:user(?:name)?|usuario|usu(?:\xc3\xa1|a)rio|utilisateur|benutzer(?:name)?|пользовател\S{{1,4}})\s[\w.@\-]{{2,40}},?\s(?:and|y|e|et|und|и|con|com|avec|mit|with)\s(?:\w{{1,4}}\s)?(?:clave|llave|chave|cl(?:\xc3\xa9|e)|{_PASSWORDS})\s){_OPENED}([!#-&*-:=?-_a-z|~]{{8,80}})",
            hints=(
                *_LOGIN_HINTS,
                "connect",
                "einloggen",
                "conecta",
                "acced",
                "user",
                "usu",
                "utilisateur",
                "benutzer",
                "пользоват",
                "войди",
                "зайди",
            ),
            group=1,
            accept=_credentials,
            is_loose=True,
            is_wordy=True,
            says="tells credentials",
        ),
    ]
