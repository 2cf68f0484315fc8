"""Text that tries to command the reader, and personal details that do not belong in a memory."""

from __future__ import annotations

from byheart.storage.scanners.rules import ScanRule, iban, luhn
from byheart.text.deferred import deferred

_ACT = r"(?:ignore|disregard|forget|override|bypass|discard|neglect|skip)"
_PRIOR = r"(?:previous|prior|above|earlier|preceding|original|foregoing|system|initial|your)"
_ORDERS = r"(?:instructions?|prompts?|rules?|directions?|guidelines?|guidance|directives?|commands?|messages?|context|policies|policy|training|programming|safeguards?|restrictions?)"
# "Ignore all eslint rules" is advice; "ignore all instructions" is not.
_ONLY_ORDERS = r"(?:instructions?|prompts?|directives?|guardrails?|safeguards?|system\s{1,3}messages?)"
_LOOT = r"(?:credentials?|secrets?|tokens?|passwords?|keys?|\.env|env(?:ironment)?\s{1,3}variables?|file\s{1,3}contents?|conversations?|chats?|history|memor(?:y|ies)|transcripts?|source\s{1,3}code|(?:user|private|personal|sensitive|all)\s{1,3}(?:data|info\w*|files)|the\s{1,3}file)"

_SENDING = ("send", "post", "upload", "forward", "exfiltrat", "transmit", "email", "leak", "copy", "report")
_COMMANDING = "reads like an instruction to the agent, not like a preference"


def _instruction(name: str, pattern: str, *hints: str, weak: bool = False) -> ScanRule:
    return ScanRule(name=f"instruction-{name}", pattern=pattern, hints=hints, says=_COMMANDING, weak=weak)


def instruction_rules() -> list[ScanRule]:
    """Phrases whose only use is to take over an agent. Plain imperatives (always, never, use) are preferences."""
    return [
        _instruction(
            "override",
            rf"(?i)\b{_ACT}\s{{1,3}}(?:\w+\s{{1,3}}){{0,3}}?(?:{_PRIOR}\s{{1,3}}(?:\w+\s{{1,3}}){{0,4}}?{_ORDERS}|(?:all|any|the|these|those)\s{{1,3}}(?:of\s{{1,3}}the\s{{1,3}})?{_ONLY_ORDERS})\b",
            "ignore",
            "disregard",
            "forget",
            "override",
            "bypass",
            "discard",
            "neglect",
            "skip",
        ),
        _instruction(
            "forget-all",
            r"(?i)\b(?:forget|ignore|disregard)\s{1,3}(?:about\s{1,3})?(?:everything|all(?:\s{1,3}of\s{1,3}that)?)\s{0,3}(?:above|before|you|that|i\b|said|and\b|[,.!])",
            "forget",
            "ignore",
            "disregard",
        ),
        _instruction(
            "new-identity",
            r"(?i)\b(?:you\s{1,3}are\s{1,3}now\s{1,3}(?:an?|the|in|dan|free|unrestricted|unfiltered|no\s{1,3}longer)\b|from\s{1,3}now\s{1,3}on,?\s{1,3}you\s{1,3}(?:are\s{1,3}(?:an?|the|dan)\b|will\s{1,3}(?:act|pretend|respond\s{1,3}as|obey))|pretend\s{1,3}(?:you\s{1,3}are|that\s{1,3}you)|act\s{1,3}as\s{1,3}(?:if\s{1,3}you|a\s{1,3}\w{0,12}\s{0,3}(?:dan|jailbr|unrestrict|unfilter|evil))|enter\s{1,3}(?:developer|dan|god|debug|sudo)\s{1,3}mode|do\s{1,3}anything\s{1,3}now|jailbr[eo]a?k)",
            "you are now",
            "from now on",
            "pretend",
            "act as",
            "mode",
            "anything now",
            "jailbr",
        ),
        _instruction(
            "role-marker",
            r"(?i)<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)[^>]{0,20}\|?>|\[/?INST\]|<</?SYS>>|(?:^|\n)\s{0,3}(?:#{1,4}\s{0,2})?(?:system|assistant|developer)\s{1,2}(?:prompt|message|instructions?)\s{0,2}:\s|</?(?:system|system-reminder|assistant|developer|user_instructions|instructions)>",
            "<|",
            "inst]",
            "sys>>",
            "system",
            "assistant",
            "developer",
            "instructions>",
        ),
        _instruction(
            "hide-from-user",
            r"(?i)\b(?:do\s{1,3}not|don'?t|never|without)\s{1,3}(?:\w+\s{1,3}){0,2}?(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|notify|notifying)\w{0,3}\s{1,3}(?:\w+\s{1,3}){0,4}?(?:the\s{1,3}user|to\s{1,3}the\s{1,3}user|anyone|anybody|the\s{1,3}human|the\s{1,3}developer)\b",
            "the user",
            "anyone",
            "anybody",
            "the human",
            "the developer",
        ),
        _instruction(
            "prompt-extraction",
            r"(?i)\b(?:reveal|print|repeat|show|output|display|leak|expose|disclose|tell\s{1,3}me|give\s{1,3}me|what\s{1,3}(?:is|are|was|were))\s{1,3}(?:\w+\s{1,3}){0,4}?(?:system\s{1,3}prompt|initial\s{1,3}prompt|hidden\s{1,3}(?:prompt|instructions?)|(?:your|the)\s{1,3}(?:secret|original|initial|previous|full|exact)\s{1,3}(?:instructions?|prompt|rules)|access\s{1,3}code|pass\s{0,1}phrase)",
            "prompt",
            "instruction",
            "rules",
            "access code",
            "phrase",
        ),
        _instruction(
            "exfiltration",
            rf"(?i)\b(?:send|post|upload|forward|exfiltrate|transmit|email|leak|copy|report)\w{{0,3}}\s{{1,3}}(?:[\w./-]+[\s,]{{1,3}}){{0,4}}?{_LOOT}[\s,]{{1,3}}(?:[\w./-]+[\s,]{{1,3}}){{0,6}}?(?:to|via|through|at)\s{{1,3}}(?:\w+\s{{1,3}}){{0,3}}?(?:https?://|ftp://|[\w.+-]+@[\w-]+\.[a-z]{{2,}}|attacker|external\s{{1,3}}server|webhook)",
            *_SENDING,
        ),
        _instruction(
            "outbound",
            r"(?i)\b(?:send|post|upload|forward|exfiltrate|transmit|email|leak|copy|report)\w{0,3}\s{1,3}(?:\w+[\s,]{1,3}){0,8}?(?:to|via|through|at)\s{1,3}(?:\w+\s{1,3}){0,3}?(?:https?://|ftp://|[\w.+-]+@[\w-]+\.[a-z]{2,}|attacker|external\s{1,3}server|webhook)",
            *_SENDING,
            weak=True,
        ),
        _instruction(
            "pipe-to-shell",
            r"(?i)\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^\n|]{1,300}\|\s{0,3}(?:sudo\s{1,3})?(?:ba|z|da|k)?sh\b|\b(?:base64\s{1,3}(?:-d|--decode)[^\n|]{0,100}\|\s{0,3}(?:ba|z)?sh)|\brm\s{1,3}-[rRf]{2,4}\s{1,3}(?:/|~|\$HOME)(?:\s|$|\*)",
            "curl",
            "wget",
            "fetch",
            "iwr",
            "invoke-webrequest",
            "base64",
            "rm ",
        ),
        _instruction(
            "memory-poison",
            r"(?i)\b(?:(?:update|modify|overwrite|change)\s{1,3}your\s{1,3}(?:memory|instructions|rules|system\s{1,3}prompt)|the\s{1,3}user\s{1,3}has\s{1,3}(?:already\s{1,3})?(?:granted|approved|authori[sz]ed|consented|given)\s{1,3}(?:\w+\s{1,3}){0,3}?(?:permission|access|approval|full|all|you)|(?:admin|administrator|root|elevated)\s{1,3}(?:override|privileges?\s{1,3}(?:granted|enabled)|access\s{1,3}granted)|(?:approve|accept)\s{1,3}(?:any|all|every)\s{1,3}(?:commands?|code|actions?|requests?|tools?)\b)",
            "your memory",
            "your instructions",
            "your rules",
            "your system",
            "the user has",
            "override",
            "privilege",
            "granted",
            "disable",
            "turn off",
            "bypass",
            "trust",
            "obey",
            "follow",
            "approve",
            "accept",
            "execute",
            "run ",
        ),
        _instruction(
            "standing-order",
            r"(?i)\bin\s{1,3}(?:all|every)\s{1,3}future\s{1,3}(?:sessions?|conversations?|interactions?)|\b(?:do\s{1,3}not|don'?t|never|without)\s{1,3}(?:\w+\s{1,3}){0,2}?(?:alert|show|ask|asking|warn)\w{0,3}\s{1,3}(?:\w+\s{1,3}){0,4}?the\s{1,3}(?:user|human|developer)\b|\b(?:disable|turn\s{1,3}off|bypass)\s{1,3}(?:\w+\s{1,3}){0,3}?(?:safety|security|approval|permission|confirmation|sandbox|guardrail)s?\s{1,3}(?:checks?|prompts?|filters?|measures?|controls?|mode|features?|requests?)|\b(?:trust|obey|follow|execute|run)\s{1,3}(?:\w+\s{1,3}){0,3}?(?:any|all|every)\s{1,3}(?:commands?|code|instructions?|scripts?)\b|\bpretend\s{1,3}to\s{1,3}be|(?:^|\n)\s{0,3}(?:#{1,4}\s{0,2})?(?:system|assistant|developer)\s{0,2}:\s",
            "future",
            "the user",
            "the human",
            "developer",
            "disable",
            "turn off",
            "bypass",
            "trust",
            "obey",
            "follow",
            "execute",
            "run ",
            "pretend",
            "system",
            "assistant",
            weak=True,
        ),
        _instruction(
            "obedience",
            r"(?i)\b(?:you|(?:the|any|every|all)\s{1,3}(?:agents?|assistants?|models?))\s{1,3}(?:must|shall|will|should|have\s{1,3}to|are\s{1,3}(?:required|obliged|expected)\s{1,3}to)\s{1,3}(?:now\s{1,3}|always\s{1,3}|strictly\s{1,3})?(?:obey|comply|follow|adhere|submit|execute|accept)\b|\b(?:obey|comply\s{1,3}with|adhere\s{1,3}to|follow)\s{1,3}(?:the|this|these|all|any|my|our)\s{1,3}(?:\w+\s{1,3}){0,3}?(?:polic(?:y|ies)|instructions?|orders?|directives?|commands?|mandates?)\b|(?:^|\n)\s{0,3}(?:policy|directive|mandate|order)\s{0,3}(?:\d+|#\d+)?\s{0,3}:|\b(?:agents?|assistants?|llms?|models?|bots?|employees|ais?)\s{1,3}(?:must|shall|ha(?:ve|s)\s{1,3}to|(?:is|are)\s{1,3}(?:required|obliged|expected|supposed)\s{1,3}to)\b|\b(?:comply|compliance)\s{1,3}with\s{1,3}(?:\w+\s{1,3}){0,2}?(?:polic|rule|guideline|instruction|directive)|\b(?:company|corporate|security|it\s{1,3}is)\s{1,3}(?:\w+\s{1,3}){0,2}?polic(?:y|ies)\b|\bevery\s{1,3}request\s{1,3}(?:gets|is|must\s{1,3}be)\s{1,3}(?:approved|accepted|granted)|\b(?:der|die|alle|jeder)\s{1,3}(?:agent|agenten|assistent|assistenten)\s{1,3}(?:muss|m.{1,2}ssen|soll|sollen)\b",
            "agent",
            "assist",
            "llm",
            "model",
            "bot",
            "employee",
            "ai",
            "request",
            "company",
            "corporate",
            "security",
            "it is",
            "obey",
            "comply",
            "follow",
            "adhere",
            "submit",
            "execute",
            "accept",
            "policy",
            "directive",
            "mandate",
            "order",
            weak=True,
        ),
        _instruction(
            "hidden-comment",
            r"(?is)<!--.{0,400}?\b(?:ignore|instruct|you must|assistant|agent|system|please|execute|do not|send)\b.{0,400}?-->",
            "<!--",
        ),
        _instruction(
            "when-read",
            r"(?i)\b(?:when(?:ever)?|if|once|after)\s{1,3}(?:you|the\s{1,3}(?:agent|assistant|model|ai|llm))\s{1,3}(?:read|reads|see|sees|load|loads|process|processes|parse|parses|encounter|encounters)\s{1,3}this\b",
            " this",
        ),
    ]


def command_rules() -> list[ScanRule]:
    """Text that is a command line rather than a statement about one; never captured unasked."""
    return [
        ScanRule(
            name="command-line",
            pattern=r"(?:^|\n)\s{0,3}(?:[$#>%]\s{1,3})(?:\S{1,80})|(?:^|\n)\s{0,3}(?:sudo|rm|chmod|chown|dd|mkfs|kill|eval|exec)\s{1,3}[-/\w$]|(?:&&|\|\||;)\s{0,3}(?:sudo|rm|curl|wget|eval|sh|bash)\s",
            hints=("$", "#", ">", "%", "sudo", "rm ", "chmod", "chown", "dd ", "mkfs", "kill", "eval", "exec"),
            says="is a command line, not a preference",
        )
    ]


_HEX_GROUP = deferred(r"(?:^|[^0-9A-Za-z])[0-9a-fA-F]{4,8}-$")


def personal_rules() -> list[ScanRule]:
    """Details that could harm a person if a memory file went astray."""
    return [
        ScanRule(
            name="personal-payment-card",
            pattern=r"\b([3-6][0-9]{3}(?:[ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}|3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5})\b(?:-[0-9a-fA-F]{4})?",
            group=1,
            hints=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
            # A stretch of a UUID may have the digits of a card by chance.
            accept=lambda value, whole, before: (
                luhn(value) and whole == value and not before.endswith(".") and not _HEX_GROUP.search(before)
            ),
            reach=60,
            says="holds a payment card number",
        ),
        ScanRule(
            name="personal-bank-account",
            pattern=r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b",
            hints=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
            accept=lambda value, *_: iban(value),
            says="holds a bank account number",
        ),
        ScanRule(
            name="personal-identity-number",
            pattern=r"(?i)\b(?:ssn|social\s{1,3}security(?:\s{1,3}(?:number|no\.?))?|passport(?:\s{1,3}(?:number|no\.?))?|driver'?s?\s{1,3}licen[cs]e(?:\s{1,3}(?:number|no\.?))?|national\s{1,3}(?:id|insurance)(?:\s{1,3}(?:number|no\.?))?|tax\s{1,3}id)\s{0,3}(?:is|:|=|#)?\s{0,3}((?-i:[A-Z]{0,3}[0-9][A-Z0-9]*(?:[ -][A-Z0-9]*[0-9][A-Z0-9]*){0,5}))",
            hints=("ssn", "social", "passport", "licen", "national", "tax id"),
            group=1,
            accept=lambda value, *_: sum(each.isdigit() for each in value) >= 5,
            before=48,
            says="holds an identity number",
        ),
        ScanRule(
            name="personal-us-ssn",
            pattern=r"\b(?:00[1-9]|0[1-9][0-9]|[1-578][0-9]{2}|6[0-57-9][0-9]|66[0-57-9])-[0-9]{2}-[0-9]{4}\b",
            hints=("-",),
            says="holds a social security number",
        ),
        ScanRule(
            name="personal-detail",
            pattern=r"(?i)\b(?:my|his|her|their|the\s{1,3}user'?s)\s{1,3}(?:date\s{1,3}of\s{1,3}birth|birth\s?date|home\s{1,3}address|salary|medical\s{1,3}(?:history|condition|record)s?|diagnosis|blood\s{1,3}type|bank\s{1,3}account|credit\s{1,3}card|sexual\s{1,3}orientation|religion|immigration\s{1,3}status|criminal\s{1,3}record)\s{1,3}(?:is|are|was|number)\b|\b(?:i|he|she|they|user)\s{1,3}(?:was|were|am|is|has\s{1,3}been|have\s{1,3}been)\s{1,3}diagnosed\s{1,3}with\b",
            hints=(
                "birth",
                "address",
                "salary",
                "medical",
                "diagnos",
                "blood",
                "bank",
                "credit",
                "orientation",
                "religion",
                "immigration",
                "criminal",
            ),
            before=80,
            says="holds a sensitive personal detail",
        ),
    ]
