"""Secrets known by their surroundings: keys in PEM, credentials in URLs and headers, `name = value`."""

from __future__ import annotations

import re

from byheart.storage.scanners.rules import (
    UUID,
    ScanRule,
    codelike,
    digits_in,
    entropy,
    is_scrambled,
    placeholder,
    tokenlike,
    words_of,
)
from byheart.text.deferred import deferred

_PASSWORD = r"pass(?:word|wd|phrase|wrd)|pwd|passwort|\bpsk\b"
_SECRET = (
    r"secret|token|api[_.\- ]?key|access[_.\- ]?key|auth[_.\- ]?key|private[_.\- ]?key|account[_.\- ]?key"
    r"|client[_.\- ]?key|application[_.\- ]?key|encryption[_.\- ]?key|signing[_.\- ]?key|master[_.\- ]?key"
    r"|search[_.\- ]?key|hex[_.\- ]?key|openai[_.\- ]?key|credential|atlassian[_.\- ]?key|bearer|[a-z]{3,20}_key|[_.\-]pat\b"
)
_AFTER = r"""[\w.\-]{0,24}["'`\\\])}]{0,4}"""
_CLOSED = r"""["'`\\\])}]{0,4}"""
# What says that a name has a value, with the value's type in between where a language has that, and what may mark a literal.
_TYPED = r"""(?::[ \t]{1,2}[A-Za-z][\w.\[\]| ]{0,24})?(?:\s?\{ ?get; ?(?:(?:set|init); ?)?\})?"""
_EQUALS = rf"""{_TYPED}\s{{0,6}}(?::=|=>|->|\?=|={{1,3}}|:|\|\||\?\?)[ \t]{{0,6}}"""
_EQUALS_OR_COMMA = rf"""{_TYPED}\s{{0,6}}(?::=|=>|->|\?=|={{1,3}}|:|,|\|\||\?\?)[ \t]{{0,6}}"""
_QUOTE = r"""(?:[brufBRUF]{1,2}["'])?[\\"'`(]{0,4}"""
_VALUE = r"""([^\s"'`,;<>()\\]{4,})"""
_LONG_VALUE = r"""([^\s"'`,;<>()\\]{8,})"""
# As long, with a digit among them: what has neither that nor quotation marks is code or a word.
_ANY, _NO_DIGIT = r"""[^\s"'`,;<>()\\]""", r"""[^\s"'`,;<>()\\0-9]"""
_LONG_VALUE_WITH_DIGIT = (
    "("
    + "|".join(f"{_NO_DIGIT}{{{at}}}[0-9]{_ANY}{{{7 - at},}}" for at in range(7))
    + f"|{_NO_DIGIT}{{7,}}[0-9]{_ANY}*)"
)

_WEAK_KEY_WORDS = frozenset(
    "public pub publishable foreign primary partition sort cache index max min count counts usage limit limits per id name type".split()
)
_SETTING_ENDS = deferred(
    r"(?i)(?:time_?out|ttl|expiry|expires?(?:_in)?|hasher|hash|length|len|policy|limit|budget|iz(?:er|ed|e|ation)|min|max|reset|rotation|"
    r"encryption|algorithm|scheme|format|mode|attempts|retries|strength|field|input|prompt|prefix|suffix|header|env|var|enabled|required|rules?|manager|store)$"
)
# What is named is an object that holds it.
_REFERENCE = deferred(r"(?i)pass\w{0,6}[_-]?(?:secret|ref)(?:[_-]?(?:name|key))?$")
_NAME_ENDS = deferred(
    r"(?:_id|Id|_name|Name|_type|Type|_url|Url|URL|_uri|_path|Path|_file|File|_count|Count|s|_len|_ms|_at|_index|_hash|_field)$"
)
_BARE_ASSIGNMENT = deferred(r"(?i)(?:pass|word|wd|phrase|pwd)(?:_[A-Za-z0-9]{1,12})?\s*(?<!=)=\s*$")
_NAME = deferred(r"^[\w.$\-]+")
_NAME_HEAD = deferred(r"[\w.$\-]+$")
_WORDY = deferred(r"[a-z]*(?:[A-Z][a-z]+)*\d{0,4}|[A-Z]{1,12}\d{0,4}")


_NAMED_SO = deferred(r"(?i)(?:[a-z]+_)*(?:password|passwd|passphrase|passwort)(?:_[a-z]+)*")


def _password(value: str, match: str, _: str) -> bool:
    """A password may be any word, so only variables, templates, types and code are let through."""
    lead = match[: match.rfind(value)]
    # A call, the place of a test, or the name of what holds it.
    is_sentence = match.endswith(" ") and lead.endswith(("'", '"')) and value.isalpha()
    if match.endswith("(") or is_sentence or value.startswith(":") or _NAMED_SO.fullmatch(value):
        return False
    is_template = placeholder(value)
    value = value.rstrip("}])&+.:")
    if len(value) < 4 or codelike(value) or is_template or placeholder(value) or placeholder(value.partition("|")[0]):
        return False
    name = re.match(r"[\w.\-]+", match)
    if name and (_SETTING_ENDS.search(name.group().rstrip("-_.")) or _REFERENCE.search(name.group())):
        return False
    if match[:3].casefold() == "pwd" and (":" in lead or value.startswith(("/", "~", "C:", "."))):
        # PWD is the working folder more often than a password.
        return False
    if lead.endswith(("'", '"', "`")):
        return True
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", value):
        return False
    # Settings files assign bare words with "="; after ":" a bare word is prose ("password: required").
    return not value.strip("_").isalpha() or is_scrambled(value) or bool(_BARE_ASSIGNMENT.search(lead))


def _plain_password(value: str, match: str, _: str) -> bool:
    """A single word behind a password's name that is all of its line, as settings have it; sentences go on."""
    name = match[: match.rfind(value)].strip(" -\t\"':")
    if _SETTING_ENDS.search(name) or _REFERENCE.search(name) or re.fullmatch(r"(?i)pwd", name) or len(value) < 4:
        return False
    # Types and words that settings have there instead.
    is_type = value[:1].isupper() and value.isalpha() and not is_scrambled(value)
    return not placeholder(value) and not codelike(value) and not is_type and not value.endswith((":", "?"))


def _quoted_password(value: str, match: str, _: str) -> bool:
    """Everything between the quotes is the password, blanks and brackets included."""
    lead = match[: match.rfind(value)]
    name = re.match(r"[\w.\-]+", match)
    if (name and _SETTING_ENDS.search(name.group().rstrip("-_."))) or (match[:3].casefold() == "pwd" and ":" in lead):
        return False
    # A sentence behind "password:" is a label or a message, not a password; so is what speaks of one.
    if (
        len(value.split()) > 1
        and not digits_in(value)
        and re.search(r"(?i)pass|pwd|\?$|kennwort|mot de passe|contrase|senha", value)
    ):
        return False
    if placeholder(value) or _NAMED_SO.fullmatch(value):
        return False
    return not value.startswith(("/", "~", ":")) and len(value.split()) <= 6


_LONGEST_NAME = 24
_NOUNS = frozenset("key keys token tokens secret secrets password credential credentials".split())


def _assigned(value: str, match: str, before: str) -> bool:
    # What decides most often comes first.
    if match.endswith("("):
        return False
    if not digits_in(value) and not is_scrambled(value) and not match[: match.rfind(value)].endswith(("'", '"', "`")):
        return False
    if placeholder(value) or codelike(value):
        return False
    head, tail = _NAME_HEAD.search(before), _NAME.match(match)
    plain = (head.group() if head else "") + (tail.group() if tail else match)
    if _NAME_ENDS.search(plain.rstrip("-_.")) and not re.search(r"(?i)secret$|pass$", plain):
        return False
    value = value.rstrip("}])&+.:")
    # Another name of the kind is no value of it.
    if value.isalnum() and len(value) <= _LONGEST_NAME and words_of(value)[-1] in _NOUNS:
        return False
    if value.startswith(("arn:", "urn:")):
        return False
    if _WEAK_KEY_WORDS.intersection(words_of(plain)) or _SETTING_ENDS.search(plain.rstrip("-_.")):
        return False
    return tokenlike(value, least=8)


def _spaced(value: str, *_: str) -> bool:
    """A name and a value with only a space between: the value has to be long and mixed, and no path through a folder whose
    name begins like that."""
    return (
        len(value) >= 16 and any(each.isdigit() for each in value) and tokenlike(value, least=16) and not _path(value)
    )


def _path(value: str) -> bool:
    """Words with slashes between them, as in a project called token-service; ids of files may stand among them."""
    if "/" not in value:
        return False
    return all(map(_WORDY.fullmatch, re.split(r"[-_./]", UUID.sub("", value))))


def _keyed(value: str, *_: str) -> bool:
    return (
        tokenlike(value, least=15)
        and not UUID.fullmatch(value)
        and entropy(value) >= 3.2
        and not re.fullmatch(r"[0-9a-f]+|[a-z0-9]+(?:[-_.:/][a-z0-9]+)+", value)
    )


def _in_url(value: str, match: str, _: str) -> bool:
    user = match.removeprefix("://").partition(":")[0]
    if value == user:
        # What fresh installations and documents have there.
        return False
    if re.match(r"\d{2,5}(?:[/?#,;]|$)|v?\d+(?:\.\d+)+(?:-[\w.]+)?$", value):
        # host:8080/path?mail=a@b is a port and a path, image:3.18@sha256:… a version.
        return False
    return not re.search(r"[${}<>*%]\{?[A-Za-z(]|^[$<{*%]|^x+$|\.\.\.", value)


def _header(value: str, *_: str) -> bool:
    return not placeholder(value) and not codelike(value) and any(each.isdigit() for each in value)


def _bearer(value: str, *_: str) -> bool:
    """A token, or letters alone that make no words: long, and as mixed as chance makes them."""
    letters = value.rstrip(".")
    return tokenlike(value, least=20) or (
        letters.isalpha() and len(letters) >= 24 and entropy(letters) >= 3.9 and not placeholder(letters)
    )


def _mixed(value: str, *_: str) -> bool:
    """Letters and digits that stand for nothing else."""
    return bool(digits_in(value)) and any(map(str.isalpha, value)) and not placeholder(value) and not codelike(value)


def _typed(value: str, *_: str) -> bool:
    """A word of a command line that is no option and no path."""
    is_plain = value.isalpha() and not is_scrambled(value)
    return not placeholder(value) and not value.startswith(("-", "/", "\\")) and not is_plain


def _user_password(value: str, *_: str) -> bool:
    if len(value.strip(":'\"{}")) < 6:
        return False
    value = value.rsplit(":", 1)[-1].strip("'\"{}") or value.strip(":")
    return not re.search(r"^[$<{%]|\$\{|^(?:password|pass|token|passwd)$", value, re.IGNORECASE)


def shape_rules() -> list[ScanRule]:
    """The rules that read context; the assignment rules come last, since they are the least specific."""
    return [
        ScanRule(
            name="private-key",
            pattern=r"""-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\.,:;()"'>#*|`\-]*?-----END[A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\,:\-]*)""",
            hints=("private key",),
            says="holds a private key",
        ),
        ScanRule(
            name="url-credentials",
            # A slash or a comma in it only where no other way leads to an "@".
            pattern=r"""://[^\s:/@"'<>`]*:(?:([^\s"'<>`/,]{3,})@[\w\[$]|([^\s"'<>`]{3,})@[\w\[$])""",
            hints=("://",),
            group=-1,
            accept=_in_url,
            says="holds a password in a URL",
        ),
        ScanRule(
            name="curl-credentials",
            pattern=r"""(?i)\s(?:-u|--user|--proxy-user)[= ]\s{0,4}["'{]{0,2}([^\s"':]{0,80}["'}]{0,2}:["'{]{0,2}[^\s"']{0,80})""",
            hints=("curl",),
            group=1,
            accept=lambda value, match, before: "curl" in before.casefold() and _user_password(value, match, before),
            reach=800,
            says="holds a user's password on a curl command line",
        ),
        ScanRule(
            name="authorization-header",
            pattern=r"""(?i)authorization["'\]]{0,2}\s{0,4}[:=,]\s{0,4}["'`]{0,2}(?:[A-Za-z][A-Za-z0-9\-]{2,20}\s{1,3})?([A-Za-z0-9+/=_.~:@\-]{8,})""",
            hints=("authorization",),
            group=1,
            accept=_header,
            says="holds an authorisation header",
        ),
        ScanRule(
            name="bearer-token",
            pattern=r"""(?i)\bbearer\s{1,3}([A-Za-z0-9+/=_.~\-]{20,})""",
            hints=("bearer",),
            group=1,
            accept=_bearer,
            says="holds a bearer token",
        ),
        ScanRule(
            name="basic-auth",
            pattern=r"""(?i)\bbasic\s{1,3}([A-Za-z0-9+/]{12,}={0,2})""",
            hints=("basic ",),
            group=1,
            accept=lambda value, *_: tokenlike(value, least=12),
            says="holds basic authentication credentials",
        ),
        ScanRule(
            name="xml-password",
            pattern=r"""(?i)<(?:password|passphrase|privatekey|apikey|token)>\s{0,4}([^<>\s$]{4,256})\s{0,4}</|key="(?:cleartext)?password"\s{1,4}value="([^"$%{]{4,128}(?:%[^"]{0,64})?)\"""",
            hints=("<pass", "<priv", "<apikey", "<token", 'password"'),
            group=-1,
            accept=lambda _, match, __: "{" not in match and not placeholder(re.sub(r"<[^>]*>|key=|value=", "", match)),
            says="holds a password in XML",
        ),
        ScanRule(
            name="kubernetes-secret",
            # The whole block of values, which may stand before or behind the word for what it is; in YAML and in JSON.
            pattern=r"""(?s)kind["']?:\s{0,4}["']?[sS]ecret["']?[\s,].{0,900}?\b(?:data|stringData)["']?:[ \t]{0,80}(?:\{([^{}]{4,})\}|\r?\n((?:[ \t]+[^\n]+\r?\n)*[ \t]+[^\r\n]+))|\b(?:data|stringData)["']?:[ \t]{0,80}(?:\{([^{}]{4,})\}|\r?\n((?:[ \t]+[^\n]+\r?\n)*[ \t]+[^\r\n]+)\r?\n).{0,900}?kind["']?:\s{0,4}["']?[sS]ecret""",
            hints=("kind:", 'kind"'),
            group=-1,
            accept=lambda _, match, before: bool(re.search(r"(?i)apiVersion|metadata|data:\s*\n", before + match)),
            reach=200,
            trims=b"",
            says="holds a Kubernetes secret",
        ),
        ScanRule(
            name="secure-string",
            pattern=r"""(?i)ConvertTo-SecureString\s{1,3}(?:-String\s{1,3})?["']([^"'\n]{4,200})["']""",
            hints=("securestring",),
            group=1,
            accept=lambda value, *_: not placeholder(value),
            says="assigns a password",
        ),
        ScanRule(
            name="named-value",
            # A name and its value as two members, in either order, as lists of variables have them.
            pattern=rf"""(?i)(?:(?:name|key|id)["']?\s{{0,3}}[:=]\s{{0,3}}["']?[\w.\-]{{0,40}}(?:{_PASSWORD}|{_SECRET}|_pass\b)[\w.\-]{{0,24}}["']?[\s,;]{{1,40}}["']?value["']?\s{{0,3}}[:=]\s{{0,3}}["']?([^\s"'<>,]{{4,200}})|value["']?\s{{0,3}}[:=]\s{{0,3}}["']([^"'\n]{{4,200}})["'][\s,;]{{1,40}}["']?(?:name|key|id)["']?\s{{0,3}}[:=]\s{{0,3}}["']?[\w.\-]{{0,40}}(?:{_PASSWORD}|{_SECRET})|<key>[\w.\-]{{0,40}}(?:{_PASSWORD}|{_SECRET})[\w.\-]{{0,24}}</key>\s{{0,40}}<string>([^<>\n]{{4,200}})</string>|variable\s{{1,3}}["'][\w.\-]{{0,40}}(?:{_PASSWORD}|{_SECRET})[\w.\-]{{0,24}}["']\s{{0,3}}\{{[^{{}}]{{0,200}}?default\s{{0,3}}=\s{{0,3}}"([^"\n]{{4,200}})")""",
            hints=("value", "<string>", "default"),
            group=-1,
            accept=lambda value, *_: not placeholder(value) and not codelike(value) and value[:1] not in "/~$",
            is_wordy=True,
            says="assigns a secret",
        ),
        ScanRule(
            name="password-below-its-name",
            pattern=rf"""(?im)^[ \t]{{0,40}}["']?[\w.\-]{{0,40}}(?:{_PASSWORD})s?["']?:[ \t]{{0,3}}\r?\n[ \t]{{1,40}}(?:- )?["']?([^\s"':#\[\]{{}}<>]{{6,100}})["']?[ \t]{{0,3}}\r?$""",
            hints=("pass", "pwd"),
            group=1,
            accept=_mixed,
            is_wordy=True,
            says="assigns a password",
        ),
        ScanRule(
            name="password-in-call",
            pattern=rf"""(?i)(?:{_PASSWORD})\w{{0,12}}["']?\s{{0,3}}[,(]\s{{0,3}}["']([^"'\s:]{{6,100}})["']""",
            hints=("pass", "pwd"),
            group=1,
            accept=_mixed,
            is_wordy=True,
            says="hands a password to a call",
        ),
        ScanRule(
            name="credentials-in-call",
            # Calls whose arguments are a user's name and a password, or a key to sign with.
            pattern=r"""(?i)(?:\bauth\s{0,3}=\s{0,3}|basic_?auth|mysqli?(?:_connect)?|\bpdo|getconnection|\blogin|authenticate|credentials?|jwt\.(?:sign|verify|encode|decode))\s{0,3}\((?:[^()"'\n]{0,80}|["'][^"'\n]{0,80}["']|,\s{0,3}){0,6}?["']([^"'\s]{0,60}[0-9][^"'\s]{0,60})["']\s{0,3}[,)]""",
            hints=("auth", "mysql", "pdo", "getconnection", "login", "credential", "jwt."),
            group=1,
            accept=lambda value, *_: (
                len(value) >= 6
                and any(map(str.isalpha, value))
                and not placeholder(value)
                and not codelike(value)
                and not re.search(r"[/:@]|^[a-z_-]+\d{0,3}$|^[HRE]S\d{3}$", value)
            ),
            before=40,
            behind=240,
            says="hands a password to a call",
        ),
        ScanRule(
            name="password-in-sql",
            pattern=r"""(?i)\b(?:identified\s{1,3}(?:with\s{1,3}\S{1,40}\s{1,3})?by|password)\s{1,3}(?:'([^'\n]{4,200})'|"([^"\n]{4,200})")""",
            hints=("identified", "password"),
            group=-1,
            accept=lambda value, match, _: (
                not placeholder(value)
                and not codelike(value)
                and (match[:1] in "iI" or (bool(digits_in(value)) and " " not in value))
            ),
            says="holds a password in a statement",
        ),
        ScanRule(
            name="device-password",
            pattern=r"""(?i)(?:\benable\s{1,3}|\busername\s{1,3}\S{1,60}\s{1,3}(?:privilege\s{1,3}[0-9]{1,2}\s{1,3})?)(?:secret|password)\s{1,3}(?:[0-9]\s{1,3})?(\S{6,100})|\bsnmp-server\s{1,3}community\s{1,3}(\S{6,100})""",
            hints=("enable ", "username ", "snmp-server"),
            group=-1,
            accept=lambda value, *_: bool(digits_in(value)) and not placeholder(value),
            says="holds a device's password",
        ),
        ScanRule(
            name="session-cookie",
            pattern=r"""(?i)cookie["']?\s{0,3}[:=]\s{0,3}["']?(?:[^\s"';]{1,80};\s{0,3}){0,6}?[\w.\-]{0,24}(?:sess|sid|auth|token|jwt)[\w.\-]{0,24}=([A-Za-z0-9+/=_.~%\-]{16,})""",
            hints=("cookie",),
            group=1,
            accept=lambda value, *_: tokenlike(value, least=16),
            says="holds a session's cookie",
        ),
        ScanRule(
            name="url-token",
            pattern=r"""://([A-Za-z0-9_\-]{20,100})@[\w\[]""",
            hints=("://",),
            group=1,
            accept=lambda value, *_: tokenlike(value, least=20) and not UUID.fullmatch(value),
            says="holds a token in a URL",
        ),
        ScanRule(
            name="json-web-key",
            pattern=r"""(?s)"kty"\s{0,3}:[^{}]*?"(?:d|k)"\s{0,3}:\s{0,3}"([A-Za-z0-9_\-]{20,})\"""",
            hints=('"kty"',),
            group=1,
            says="holds a private key",
        ),
        ScanRule(
            name="connection-string",
            pattern=r"""(?i)(?:server|data source|host|database|provider|uid|user id|initial catalog|driver)\s?=[^\n"']{1,300};[ "&]{0,6}(?:password|pwd)\s?=\s?([^;\s"'$#{}<>]{3,})""",
            hints=("password", "pwd"),
            group=1,
            says="holds a password in a connection string",
        ),
        ScanRule(
            name="password-quoted",
            pattern=rf"""(?i)(?:{_PASSWORD}){_AFTER}{_EQUALS}\s{{0,6}}[bruf]{{0,2}}(?:"((?:[^"\\\n]|\\[^\n]){{4,200}})"|'((?:[^'\\\n]|\\[^\n]){{4,200}})')""",
            hints=("pass", "pwd", "psk"),
            group=-1,
            accept=_quoted_password,
            is_wordy=True,
            says="assigns a password",
        ),
        ScanRule(
            name="command-password",
            # Programs that take a password as a word of their own.
            pattern=r"""(?i)\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?\s-p|sshpass\s{1,3}-p\s{0,3}|(?:docker|podman|helm|npm)\s{1,3}(?:registry\s{1,3})?login\b[^\n]{0,200}?\s(?:-p|--password)[ =]\s{0,3}|redis-cli\b[^\n]{0,120}?\s(?:-a|--pass)\s{1,3}|zip\b[^\n]{0,80}?\s-P\s{0,3}|7za?\b[^\n]{0,80}?\s-p|ldap(?:search|modify|add|delete|passwd|whoami)\b[^\n]{0,200}?\s-w\s{1,3}|psexec\S{0,8}\b[^\n]{0,120}?\s-p\s{1,3}|htpasswd\b[^\n]{0,80}?-\w{0,4}b\w{0,4}\s{1,3}\S{1,80}\s{1,3}\S{1,80}\s{1,3}|openssl\b[^\n]{0,200}?\s-pass(?:in|out)?\s{1,3}pass:|(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n]{0,120}?\s\w{1,40}/|thin:\w{1,40}/|net\s{1,3}use\b[^\n]{0,120}?\s(?:\\\\\S{1,120}|/user:\S{1,80})\s{1,3}|az\s{1,3}login\b[^\n]{0,200}?\s(?:-p|--password)[ =]\s{0,3}|keytool\b[^\n]{0,200}?\s-(?:src|dest)?(?:store|key)pass\s{1,3}|smbclient\b[^\n]{0,120}?\s-U\s{0,3}[^\s%]{1,60}%|gh\s{1,3}secret\s{1,3}set\b[^\n]{0,120}?\s(?:--body|-b)[ =]\s{0,3})["']?([^\s"'$|@/\\\-][^\s"'$|@]{4,})""",
            hints=tuple(
                "mysql|mariadb|sshpass| login|redis-cli|zip |7z |7za |ldap|psexec|htpasswd|openssl |sqlplus |sqlldr |expdp |impdp |rman |thin:|net use|keytool|smbclient|gh secret".split(
                    "|"
                )
            ),
            group=1,
            accept=_typed,
            before=40,
            behind=260,
            says="holds a password on a command line",
        ),
        ScanRule(
            name="piped-password",
            pattern=r"""(?i)\b(?:echo|printf)\s{1,3}(?:-n\s{1,3})?["']?(?:[\w.\-]{1,40}:)?([^\s"'$|]{5,100})["']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3}-S|(?:sudo\s{1,3})?(?:chpasswd|passwd)\b|[^\n|]{0,120}?--(?:password-)?stdin)""",
            hints=("stdin", "sudo -s", "passwd"),
            group=1,
            accept=_typed,
            before=300,
            says="hands a password to a program",
        ),
        ScanRule(
            name="pass-assignment",
            pattern=r"""(?i)(?:\b|[a-z_])(?:pass|pwd|pw)(?:["']\s{0,3}(?::|=>)|\s{0,3}:?=)\s{0,3}(?:"([^"\s]{6,60})"|'([^'\s]{6,60})')""",
            hints=("pass", "pwd", "pw"),
            group=-1,
            accept=lambda value, *_: (
                _mixed(value.lstrip("`")) and not value.startswith(("/", "~", ".")) and value[1:3] != ":\\"
            ),
            is_wordy=True,
            says="assigns a password",
        ),
        ScanRule(
            name="password-in-yaml",
            pattern=rf"""(?im)^[ \t]{{0,40}}(?:- )?["']?[\w.\-]{{0,40}}(?:{_PASSWORD}|_pass)["']?:[ \t]{{1,6}}([^\s"'#&*!|>{{}}\[\]%@`,;<(][^\s"',;<>()]{{3,60}})[ \t]{{0,4}}\r?$""",
            hints=("pass", "pwd", "psk"),
            group=1,
            accept=_plain_password,
            is_wordy=True,
            is_value=True,
            says="assigns a password",
        ),
        ScanRule(
            name="folded-secret",
            pattern=rf"""(?i)(?:{_PASSWORD}|{_SECRET}){_AFTER}[ \t]{{0,3}}:[ \t]{{0,3}}[|>][+\-0-9]{{0,2}}[ \t]{{0,3}}\r?\n[ \t]{{1,40}}([^\s:#][^\s:]{{3,}}(?:\r?\n[ \t]{{2,}}[^\s:]{{4,}})*)""",
            hints=(": |", ": >", ":|", ":>"),
            group=1,
            accept=lambda value, *_: not placeholder("".join(value.split())) and not codelike(value),
            says="assigns a secret in a block of its own",
        ),
        ScanRule(
            name="password-assignment",
            pattern=rf"(?i)(?:(?:{_PASSWORD}){_AFTER}|(?:(?:[_.\-]|\b(?:db|root|user|admin))pass|[a-z](?-i:Pass)){_CLOSED}){_EQUALS}{_QUOTE}{_VALUE}[( ]?",
            hints=("pass", "pwd", "psk"),
            group=1,
            accept=_password,
            is_wordy=True,
            is_value=True,
            says="assigns a password",
        ),
        ScanRule(
            name="secret-assignment",
            pattern=rf"(?i)(?:{_SECRET}){_AFTER}{_EQUALS_OR_COMMA}(?:{_QUOTE}[\"'`]{_LONG_VALUE}|{_QUOTE}{_LONG_VALUE_WITH_DIGIT}|{_QUOTE}([A-Za-z]{{16,}}))\(?",
            hints=("secret", "token", "key", "credential", "bearer", "pat"),
            group=-1,
            accept=_assigned,
            reach=60,
            is_wordy=True,
            is_value=True,
            says="assigns a secret",
        ),
        ScanRule(
            name="secret-after-name",
            pattern=rf"(?i)(?:{_SECRET}|{_PASSWORD})[\w.]{{0,12}}[ \-]{{1,3}}([A-Za-z0-9_+/=.\-]{{16,}})",
            hints=("secret", "token", "key", "pass", "pwd"),
            group=1,
            accept=_spaced,
            is_wordy=True,
            is_value=True,
            says="names a secret",
        ),
        ScanRule(
            name="netrc-password",
            pattern=r"""(?i)\bmachine\s{1,4}\S{1,100}\s{1,40}login\s{1,4}\S{1,100}\s{1,40}password\s{1,4}(\S{4,100})""",
            hints=("machine",),
            group=1,
            accept=lambda value, *_: not placeholder(value),
            says="holds a password of a .netrc file",
        ),
        ScanRule(
            name="api-call-key",
            pattern=r"""(?i)(?:api_?key|token|secret|login)["']{0,2}\s{0,4},\s{0,4}["']params["']\s{0,4}:\s{0,4}\[\s{0,40}["']([A-Za-z0-9+/_.\-]{16,200})["']""",
            hints=("params",),
            group=1,
            accept=lambda value, *_: tokenlike(value, least=16),
            says="hands a key to a call",
        ),
        ScanRule(
            name="key-assignment",
            pattern=rf"""(?i)(?:\b|_)key["'\]]{{0,3}}{_EQUALS}["'`]([A-Za-z0-9+/_.\-]{{15,128}}={{0,2}})["'`]""",
            hints=("key",),
            group=1,
            accept=_keyed,
            is_wordy=True,
            says="assigns a key",
        ),
    ]
