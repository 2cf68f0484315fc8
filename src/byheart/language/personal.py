"""Sensitive personal data in what somebody says: of people, not of programs. Nothing of it is kept unasked.

Only a sentence about somebody (I, my, a named relation) can tell of health, identity, belief, politics or income; numbers and addresses
tell by their own form, where a word beside them says whose they are. English and the languages of Western Europe by their words, Russian,
Chinese and Japanese by a few; of other languages only the forms are seen."""

from __future__ import annotations

import re

from byheart.text.deferred import deferred

# Whose it is: the speaker, somebody close, or the user by that name. A thing of a program is nobody's.
_SOMEBODY = deferred(
    r"\b(?:i|i'm|i’m|i've|im|me|my|mine|we(?:'re)?|our|he|she|his|her|they|their|the user(?:'s)?|user's|wife|husband|partner|son|daughter|mother|father|kid|colleague"
    r"|ich|mein\w*|wir|meine[rnms]?|je|j'ai|j’ai|j'|mon|ma|mes|yo|soy|tengo|mi|mis|estoy|eu|sou|tenho|meu|minha|estou|io|sono|ho|mio|mia)\b"
    r"|(?<!\w)(?:я|мой|моя|мне|у меня)(?!\w)|我|私|僕|俺",
    re.IGNORECASE,
)
_KINDS = {
    "health": deferred(
        r"\b(?:diabet\w+|cancer|hiv|aids|epilep\w+|asthma\w*|depress(?:ion|ed|ive)|anxiety|bipolar|schizophren\w+|adhd|autis\w+|dyslexi\w+|ptsd|migraines?|pregnan\w+|miscarriage"
        r"|chemotherapy|antidepressants?|insulin|medication|my meds|therapist|psychiatrist|diagnos(?:ed|is) with|disabilit\w+|wheelchair|allerg(?:y|ic)|celiac|coeliac|blood (?:type|pressure)"
        r"|krebs|schwanger|behinder\w+|krankheit|depressionen|diabète|enceinte|dépressi\w+|malad(?:e|ie)|embarazada|cáncer|diabético|depresión|grávida|câncer|depressão|incinta|cancro)\b"
        r"|диабет|беремен|депресс|糖尿病|癌|怀孕|抑郁|妊娠|うつ病",
        re.IGNORECASE,
    ),
    "sexual orientation or gender identity": deferred(
        r"\b(?:am|i'm|i’m|is|are|as a|bin|ist|suis|soy|sou|sono)\s+(?:an?\s+)?(?:openly\s+)?(?:gay|lesbian\w*|bisexual|bi|queer|asexual|transgender|trans|non-?binary|straight|homosexual|heterosexual|schwul|lesbisch|lesbienne|lesbiana|lésbica)\b|sexual orientation",
        re.IGNORECASE,
    ),
    "belief": deferred(
        r"\b(?:am|i'm|i’m|is|are|as a|bin|ist|suis|soy|sou|sono)\s+(?:an?\s+)?(?:devout\s+|practi[cs]ing\s+)?(?:muslim|christian|catholic|protestant|jewish|a jew|hindu|buddhist|sikh|atheist|agnostic|mormon|muslimisch|katholisch|evangelisch|jüdisch|catholique|musulman\w*|católic\w+|muçulman\w+|cattolic\w+)\b"
        r"|\bmy (?:religion|faith|church|mosque|synagogue)\b",
        re.IGNORECASE,
    ),
    "political opinion": deferred(
        r"\b(?:voted for|vote for the \w+ party|member of the \w+ party|(?:am|i'm|i’m|is) an? (?:registered )?(?:democrat|republican|socialist|communist|libertarian|conservative|liberal|anarchist)|my (?:political|party) \w+|wähle die|je vote|voto por|voto em)\b",
        re.IGNORECASE,
    ),
    "income": deferred(
        r"\b(?:my (?:salary|income|wage|net worth|debts?|mortgage|bonus)|(?:i|we|she|he) (?:earns? \W?\d[\d.,]*k?|makes? (?:[$€£]\s?\d[\d.,]*k?|\d[\d.,]*\s?(?:k\b|€|euros?|dollars?|usd|a (?:year|month)|per (?:year|month))))|(?:i|we) (?:owe|am in debt)|mein gehalt|verdiene|mon salaire|je gagne|mi (?:salario|sueldo)|gano|meu salário|ganho|il mio stipendio)\b"
        r"|моя зарплата|我的工资|私の給料",
        re.IGNORECASE,
    ),
}
_MAIL = deferred(r"(?<![\w.+-])([\w.+-]{1,64})@((?:[\w-]+\.)+[A-Za-z]{2,})\b")
# Addresses of programs and offices, and those that stand for any.
_NOBODYS = frozenset("git noreply no-reply donotreply support info admin root bot security contact hello team sales help dev ops test user you me name someone author".split())  # fmt: skip
_EXAMPLES = ("example.com", "example.org", "example.net", "test.com", "localhost", "users.noreply.github.com")
_FORMS = {
    "phone number": deferred(
        r"\b(?:phone|mobile|cell|call me|text me|telephone|tel|whats?app|telefon|handy|téléphone|portable|teléfono|móvil|telefone|celular|telefono|телефон)\b\D{0,25}\+?\d[\d ()./-]{6,18}\d|电话\D{0,6}\d{7,}|電話\D{0,6}\d[\d-]{7,}",
        re.IGNORECASE,
    ),
    "home address": deferred(
        r"\b(?:i|we) live (?:at|on) \S|\bmy (?:home |postal |street )?address is\b|\bwohne in der\b|\bj'habite (?:au|rue)\b|\bvivo en (?:la )?calle\b|\bmoro na rua\b|\b\d{1,5} (?:[A-Z][\w']+ ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Boulevard|Blvd)\b",
        0,
    ),
    "identity document": deferred(
        r"\b(?:passport|social security|ssn|national id|driver'?s? licen[cs]e|tax id|national insurance|personalausweis\w*|reisepass\w*|steuer-?id|passeport|numéro de sécurité sociale|pasaporte|dni|nif|cpf|passaporto|codice fiscale|паспорт|身份证|マイナンバー)\b\W{0,3}(?:number|no|nr|nummer|numéro|número|is|:|#)?\W{0,4}(?:is\W+)?[A-Z]{0,3}\d[\dA-Z -]{4,}",
        re.IGNORECASE,
    ),
    "bank account": deferred(
        r"\b(?:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?)\b|\b(?:\d{4}[ -]){3}\d{4}\b", 0
    ),
    "date of birth": deferred(
        r"\b(?:born on|my birthday is|date of birth|dob|geboren am|née? le|nací el|nasci em)\b.{0,12}\d", re.IGNORECASE
    ),
}


def kind_of(text: str) -> str:
    """What sort of sensitive personal data a text tells; empty where it tells none."""
    for kind, pattern in _FORMS.items():
        if pattern.search(text):
            return kind
    for found in _MAIL.finditer(text):
        is_persons = found[1].casefold() not in _NOBODYS and not found[2].casefold().endswith(_EXAMPLES)
        if (
            is_persons
            and not text[: found.start()].endswith(("ssh://", "://"))
            and not text[found.end() :].startswith((":", "/"))
        ):
            return "e-mail address"
    if _SOMEBODY.search(text):
        for kind, pattern in _KINDS.items():
            if pattern.search(text):
                return kind
    return ""
