"""Secrets known by their surroundings: keys in PEM, credentials in URLs and headers, `name = value`."""

from __future__ import annotations

import re

from byheart.adapters.scanners.rules import UUID, Rule, codelike, entropy, placeholder, tokenlike
from byheart.text.patterns import deferred

_PASSWORD = r"pass(?:word|wd|phrase|wrd)|pwd|passwort"
_SECRET = (
    r"secret|token|api[_.\- ]?key|access[_.\- ]?key|auth[_.\- ]?key|private[_.\- ]?key|account[_.\- ]?key"
    r"|client[_.\- ]?key|application[_.\- ]?key|encryption[_.\- ]?key|signing[_.\- ]?key|master[_.\- ]?key"
    r"|search[_.\- ]?key|openai[_.\- ]?key|credential|atlassian[_.\- ]?key|bearer"
)
_AFTER = r"""[\w.\-]{0,24}["'`\\\])}]{0,4}"""
_CLOSED = r"""["'`\\\])}]{0,4}"""
_EQUALS = r"""\s{0,6}(?::=|=>|->|={1,3}|:)\s{0,6}"""
_EQUALS_OR_COMMA = r"""\s{0,6}(?::=|=>|->|={1,3}|:|,)\s{0,6}"""
_QUOTE = r"""[\\"'`(]{0,4}"""
_VALUE = r"""([^\s"'`,;<>()\\]{4,})"""
_LONG_VALUE = r"""([^\s"'`,;<>()\\]{8,})"""

_WEAK_KEY_WORDS = deferred(
    r"(?:public|foreign|primary|partition|sort|cache|index|max|min|count|usage|limit)", re.IGNORECASE
)
_SETTING_ENDS = deferred(
    r"(?i)(?:time_?out|ttl|expiry|expires?(?:_in)?|hasher|hash|length|len|policy|limit|budget|iz(?:er|ed|e|ation)|min|max|reset|rotation|"
    r"attempts|retries|strength|field|input|prompt|prefix|suffix|header|env|var|enabled|required|rules?|manager|store)$"
)
_NAME_ENDS = deferred(
    r"(?:_id|Id|_name|Name|_type|Type|_url|Url|URL|_uri|_path|Path|_file|File|_count|Count|s|_len|_ms|_at|_index|_hash|_field)$"
)
_BARE_ASSIGNMENT = deferred(r"(?i)(?:pass|word|wd|phrase|pwd)\s*(?<!=)=\s*$")
_NAME = deferred(r"^[\w.$\-]+")
_NAME_HEAD = deferred(r"[\w.$\-]+$")
_WORDY = deferred(r"[a-z]*(?:[A-Z][a-z]+)*\d{0,4}|[A-Z]{1,12}\d{0,4}")


def _password(value: str, match: str, _: str) -> bool:
    """A password may be any word, so only variables, templates, types and code are let through."""
    lead = match[: match.rfind(value)]
    name = re.match(r"[\w.\-]+", match)
    if name and _SETTING_ENDS.search(name.group().rstrip("-_.")):
        return False
    value = value.rstrip("}])&+.")
    if len(value) < 4 or placeholder(value) or codelike(value):
        return False
    if match[:3].casefold() == "pwd" and (":" in lead or value.startswith(("/", "~", "C:", "."))):
        # PWD is the working folder more often than a password.
        return False
    if lead.endswith(("'", '"', "`")):
        return True
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", value):
        return False
    # Settings files assign bare words with "="; after ":" a bare word is prose ("password: required").
    return not value.isalpha() or bool(_BARE_ASSIGNMENT.search(lead))


def _quoted_password(whole: str, match: str, *_: str) -> bool:
    """Everything between the quotes is the password, blanks and brackets included."""
    del whole
    quote = match[-1]
    lead, value = match[:-1].rsplit(quote, 1)
    name = re.match(r"[\w.\-]+", match)
    if (name and _SETTING_ENDS.search(name.group().rstrip("-_."))) or (match[:3].casefold() == "pwd" and ":" in lead):
        return False
    # A sentence behind "password:" is a label or a message, not a password.
    return not placeholder(value) and not value.startswith(("/", "~")) and len(value.split()) <= 6


_ALGORITHM = deferred(
    r"(?i)(?:sha|md|aes|utf|http|ipv|bcrypt|scrypt|argon|pbkdf|rsa|v|rfc|oauth|base|tls|ssl)[-_]?\d[\w.-]*"
)


def _spoken_password(value: str, match: str, _: str) -> bool:
    """In a sentence most words behind "password" are not one: a password has a digit, or is three joined words."""
    value = value.rstrip(".!?}])")
    if placeholder(value) or codelike(value) or _ALGORITHM.fullmatch(value) or len(value) < 6:
        return False
    told = bool(re.search(r"(?:[:=]|\b(?:is|was|be))\s*\S*$", match[: match.rfind(value)].rstrip() + " x"))
    if re.match(r"(?i)pass[\s:]", match) and not re.match(r"(?i)pass\s+(?:is|was|will)\b", match):
        # Tests pass, and things are passed on.
        return False
    letters, digits = any(each.isalpha() for each in value), sum(each.isdigit() for each in value)
    if letters and digits and not re.fullmatch(r"[a-z]+-?\d{1,2}|\d+[a-z]+", value):
        return True
    if letters and digits:
        return told and len(value) >= 7
    return told and value.count("-") + value.count("_") >= 2 and len(value) >= 15 and value.islower()


def _assigned(value: str, match: str, before: str) -> bool:
    head, tail = _NAME_HEAD.search(before), _NAME.match(match)
    plain = (head.group() if head else "") + (tail.group() if tail else match)
    quoted = match[: match.rfind(value)].endswith(("'", '"', "`"))
    if not quoted and not any(each.isdigit() for each in value):
        return False
    if _NAME_ENDS.search(plain.rstrip("-_.")) and not re.search(r"(?i)secret$|pass$", plain):
        return False
    value = value.rstrip("}])&+.:")
    if _WEAK_KEY_WORDS.search(plain) or _SETTING_ENDS.search(plain.rstrip("-_.")):
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


def _in_url(value: str, *_: str) -> bool:
    if re.match(r"\d{2,5}(?:[/?#]|$)", value):
        # host:8080/path?mail=a@b is a port and a path.
        return False
    return not re.search(r"[${}<>*%]\{?[A-Za-z(]|^[$<{*%]|^x+$|\.\.\.", value)


def _header(value: str, *_: str) -> bool:
    return not placeholder(value) and not codelike(value) and any(each.isdigit() for each in value)


def _user_password(value: str, *_: str) -> bool:
    if len(value.strip(":'\"{}")) < 6:
        return False
    value = value.rsplit(":", 1)[-1].strip("'\"{}") or value.strip(":")
    return not re.search(r"^[$<{%]|\$\{|^(?:password|pass|token|passwd)$", value, re.IGNORECASE)


def shape_rules() -> list[Rule]:
    """The rules that read context; the assignment rules come last, since they are the least specific."""
    return [
        Rule(
            name="private-key",
            pattern=r"""-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\.,:;()"'>#*|`\-]*?-----END[A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\,:\-]*)""",
            hints=("private key",),
            says="holds a private key",
        ),
        Rule(
            name="url-credentials",
            pattern=r"""://[^\s:/@"'<>`]*:([^\s"'<>`]{3,})@[\w\[$]""",
            hints=("://",),
            group=1,
            accept=_in_url,
            says="holds a password in a URL",
        ),
        Rule(
            name="curl-credentials",
            pattern=r"""(?i)curl\b(?s:.{0,800}?)\s(?:-u|--user|--proxy-user)[= ]\s{0,4}["'{]{0,2}([^\s"']{0,80}["'}]{0,2}:["'{]{0,2}[^\s"']{0,80})""",
            hints=("curl",),
            group=1,
            accept=_user_password,
            says="holds a user's password on a curl command line",
        ),
        Rule(
            name="authorization-header",
            pattern=r"""(?i)authorization["'\]]{0,2}\s{0,4}[:=,]\s{0,4}["'`]{0,2}(?:[A-Za-z][A-Za-z0-9\-]{2,20}\s{1,3})?([A-Za-z0-9+/=_.~:@\-]{8,})""",
            hints=("authorization",),
            group=1,
            accept=_header,
            says="holds an authorisation header",
        ),
        Rule(
            name="bearer-token",
            pattern=r"""(?i)\bbearer\s{1,3}([A-Za-z0-9+/=_.~\-]{20,})""",
            hints=("bearer",),
            group=1,
            accept=lambda value, *_: tokenlike(value, least=20),
            says="holds a bearer token",
        ),
        Rule(
            name="basic-auth",
            pattern=r"""(?i)\bbasic\s{1,3}([A-Za-z0-9+/]{12,}={0,2})""",
            hints=("basic ",),
            group=1,
            accept=lambda value, *_: tokenlike(value, least=12),
            says="holds basic authentication credentials",
        ),
        Rule(
            name="xml-password",
            pattern=r"""(?i)<(?:password|passphrase|privatekey|apikey|token)>\s{0,4}([^<>\s$]{4,256})\s{0,4}</|key="(?:cleartext)?password"\s{1,4}value="([^"$%{]{4,128}(?:%[^"]{0,64})?)\"""",
            hints=("<pass", "<priv", "<apikey", "<token", 'password"'),
            accept=lambda _, match, __: "{" not in match and not placeholder(re.sub(r"<[^>]*>|key=|value=", "", match)),
            says="holds a password in XML",
        ),
        Rule(
            name="kubernetes-secret",
            pattern=r"""(?s)(?:kind:\s{0,4}["']?[sS]ecret["']?\s.{0,900}?\b(?:data|stringData):|\b(?:data|stringData):.{0,900}?kind:\s{0,4}["']?[sS]ecret)""",
            hints=("kind:",),
            accept=lambda _, match, __: bool(re.search(r"(?i)apiVersion|metadata|data:\s*\n", match)),
            says="holds a Kubernetes secret",
        ),
        Rule(
            name="connection-string",
            pattern=r"""(?i)(?:server|data source|host|database|provider|uid|user id|initial catalog|driver)\s?=[^\n"']{1,300};[ "&]{0,6}(?:password|pwd)\s?=\s?([^;\s"'$#{}<>]{3,})""",
            hints=("password", "pwd"),
            group=1,
            says="holds a password in a connection string",
        ),
        Rule(
            name="password-quoted",
            pattern=rf"""(?i)(?:{_PASSWORD}){_AFTER}{_EQUALS}(?:"([^"\n]{{4,200}})"|'([^'\n]{{4,200}})')""",
            hints=("pass", "pwd"),
            accept=_quoted_password,
            says="assigns a password",
        ),
        Rule(
            name="password-in-prose",
            pattern=r"""(?i)\bpass(?:word|phrase|code|wd)?\b(?:\s{1,3}(?:for|of|to|on|in)\s{1,3}[\w./@\-]{1,40}){0,2}(?:\s{0,3}(?::|=)|\s{1,3}(?:which\s{1,3})?(?:is|was|will be))?\s{1,3}([^\s,;"'`()]{5,})""",
            hints=("pass", "pwd"),
            group=1,
            accept=_spoken_password,
            says="tells a password",
        ),
        Rule(
            name="credentials-in-prose",
            pattern=r"""(?i)\b(?:cred(?:ential)?s?|log ?in)\b\s{0,3}(?:is|are|:|=)\s{1,3}[\w.@\-]{2,64}\s{0,3}[/:]\s{0,3}([^\s,;"'`()]{6,})""",
            hints=("cred", "login", "log in"),
            group=1,
            accept=lambda value, *_: any(each.isdigit() for each in value) and not placeholder(value),
            says="tells credentials",
        ),
        Rule(
            name="command-password",
            pattern=r"""(?i)\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?\s-p|sshpass\s{1,3}-p\s{0,3}|(?:docker|podman|helm|npm)\s{1,3}(?:registry\s{1,3})?login\b[^\n]{0,200}?\s(?:-p|--password)[ =]\s{0,3})["']?([^\s"'$]{5,})""",
            hints=("mysql", "mariadb", "sshpass", "login"),
            group=1,
            accept=lambda value, *_: not placeholder(value) and not value.startswith("-"),
            says="holds a password on a command line",
        ),
        Rule(
            name="password-assignment",
            pattern=rf"(?i)(?:(?:{_PASSWORD}){_AFTER}|(?:[_.\-]|\b(?:db|root|user|admin))pass{_CLOSED}){_EQUALS}{_QUOTE}{_VALUE}",
            hints=("pass", "pwd"),
            group=1,
            accept=_password,
            says="assigns a password",
        ),
        Rule(
            name="secret-assignment",
            pattern=rf"(?i)(?:{_SECRET}){_AFTER}{_EQUALS_OR_COMMA}{_QUOTE}{_LONG_VALUE}",
            hints=("secret", "token", "key", "credential", "bearer"),
            group=1,
            accept=_assigned,
            says="assigns a secret",
        ),
        Rule(
            name="secret-after-name",
            pattern=rf"(?i)(?:{_SECRET}|{_PASSWORD})[\w.]{{0,12}}[ \-]{{1,3}}([A-Za-z0-9_+/=.\-]{{16,}})",
            hints=("secret", "token", "key", "pass", "pwd"),
            group=1,
            accept=_spaced,
            says="names a secret",
        ),
        Rule(
            name="key-assignment",
            pattern=rf"""(?i)(?:\b|_)key["'\]]{{0,3}}{_EQUALS}["'`]([A-Za-z0-9+/_.\-]{{15,128}}={{0,2}})["'`]""",
            hints=("key",),
            group=1,
            accept=_keyed,
            says="assigns a key",
        ),
    ]
