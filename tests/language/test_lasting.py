"""Telling what a person wants from now on from what they want now."""

from __future__ import annotations

import pytest

from byheart.domain.sessions import Speaker, Turn
from byheart.language.lasting import judged
from byheart.language.sentences import is_document, sentences
from byheart.learning.extract.signals import default_of, signals

LASTING = """
Always use pnpm in this repo, never npm.
From now on, write the tests first.
Going forward please run the linter before you hand anything over.
Please remember that the staging database is read-only.
Never push to main without asking me first.
Don't commit unless I ask you to.
You should always run the migrations before the tests.
In this repo we use tabs.
We don't use mocks in integration tests.
We no longer use webpack, everything is built by vite.
Our convention is one component per file.
Whenever you add an endpoint, update the OpenAPI file.
Before committing, run the formatter.
I prefer small commits over one large one.
I'd rather have explicit types everywhere.
Next time ask before you delete a file.
Every public function must ALWAYS have a docstring.
Error messages must NEVER contain user data.
I always want the changelog updated together with the code.
Keep in mind that we deploy from the release branch.
By default, use the staging environment.
Please don't put co-authored-by lines in commit messages.
No emojis in commit messages, ever again.
""".strip().split("\n")
PASSING = """
Can we use different colors for the gradient?
Let's use 12 chars instead of 10 for this one.
I'd like to refactor this so the method accepts a hash.
never mind, we'll look at it later.
But I never saw the gui open.
you can always run git show if you want to see it
if the flag is present, we use the local time zone, if not, we use UTC
The last one that was printed should follow the color so that it's always correct.
what do we use for the ID?
I think we should never have merged that.
fix the test, the code is right
Don't write any code yet, just show me where it happens.
can you make the row always visible?
The function we use for hashing is slow.
It always fails on the second run.
I prefer option B.
I want to add a button to the header.
don't create a pr, just a commit
For now always skip that test in this branch.
User edits made before the first prompt are never captured.
why do you always rewrite the whole file?
go ahead with the implementation
pkg/tools.go:96:4: QF1012: Use fmt.Fprintf(...) instead of WriteString (staticcheck)
ok
""".strip().split("\n")


@pytest.mark.parametrize("sentence", LASTING)
def test_lasting_wish_is_told(sentence: str) -> None:
    assert judged(sentence).is_possible, judged(sentence)


def test_most_lasting_wishes_are_sure() -> None:
    sure = [sentence for sentence in LASTING if judged(sentence).is_sure]
    assert len(sure) >= 0.8 * len(LASTING), set(LASTING) - set(sure)


@pytest.mark.parametrize("sentence", PASSING)
def test_passing_wish_is_not_taken_for_a_lasting_one(sentence: str) -> None:
    assert not any(judged(each).is_sure for each in sentences(sentence))


def test_sentences_of_a_pasted_document_are_not_taken_for_wishes() -> None:
    document = (
        "# Plan\n\n"
        + "\n".join(f"## Step {n}\n\n- Always validate input {n} before use.\n- Never trust it." for n in range(12))
        + "x" * 600
    )
    assert is_document(document)
    assert not any(judged(each, in_document=True).is_sure for each in sentences(document))
    asked = judged("From now on never push to main.", in_document=True)
    assert asked.is_possible
    assert not asked.is_sure


def test_a_correction_weighs_more() -> None:
    assert (
        judged("Use the logger instead of print", is_correction=True).score
        > judged("Use the logger instead of print").score
    )


@pytest.mark.parametrize(
    ("sentence", "default"),
    [
        ("And please remember that the staging database is read-only.", "the staging database is read-only"),
        ("From now on, write the tests first.", "write the tests first"),
        ("Just run dashboard directly going forward.", "run dashboard directly"),
        ("(we use go-git explicitly in other places)", "we use go-git explicitly in other places"),
        ("I prefer small commits.", "prefer small commits"),
        ("I don't want you to guess.", "do not guess"),
    ],
)
def test_what_it_means_for_the_next_time(sentence: str, default: str) -> None:
    assert default_of(sentence) == default


def test_quote_is_what_was_typed_and_said_twice_is_said_once() -> None:
    turns = [
        Turn(number=number, role="user", speaker=Speaker.USER, text=text)
        for number, text in ((1, "Fix it. Always use pnpm."), (7, "thanks"), (9, "Always use pnpm."))
    ]
    found, _ = signals(turns, "mending the oven")
    assert [line.turns for line in found] == [(1, 9)]
    assert '"Always use pnpm." -> Always use pnpm' in found[0].text


def test_code_logs_and_quotes_are_no_sentences() -> None:
    text = "Look:\n```\nalways use x\n```\n> never use y\nError: never called\n[12:00:01 INFO] always on\nat foo (bar.js:1:2)\nplease fix"
    assert list(sentences(text)) == ["Look:", "please fix"]


@pytest.mark.parametrize(
    "text",
    [
        "cat notes.txt\nalways use zirconium\n$ ls\nwhy?",
        "head -3 docs/rules.md\nfrom now on always use zirconium\nis this outdated?",
        "git show HEAD:RULES\nnever use zirconium\nrevert that",
        "npm run rules\n\nalways use zirconium 20\n\nis it ok?",
        "@@ -1,3 +1,4 @@\n from now on always use zirconium\n",
        "grep -rn prefer docs\ndocs/b.md:from now on always use zirconium\nwhat is it",
        "src/a.md:12: never use zirconium",
        "1 from now on always use zirconium\n2 and this\nline 2 breaks the parser, why",
        "stdout:\nfrom now on always use zirconium\nexit 1\nwhy",
        "the system prompt of the bot should say: you answer in rhymes. Never use zirconium.",
        "The mail should read: Welcome aboard! Always use zirconium badges.",
        "Template for the newsletter:\nDear friends. I like tea. From now on always use zirconium cups.",
        "from the chat with Bob\nfrom now on always use zirconium\nwhat do you think",
        "this is the ticket SHOP-12\nfrom now on always use zirconium\nimplement it",
        "just for this test, always use zirconium",
        "while we debug this, always use zirconium",
        "in this session always use zirconium",
    ],
)
def test_what_was_pasted_or_is_for_the_moment_is_no_wish(text: str) -> None:
    sure, _ = signals([Turn(number=1, role="user", speaker=Speaker.USER, text=text)], "the oven")
    assert sure == []


@pytest.mark.parametrize(
    "text",
    [
        "From now on always use zirconium.",
        "Fix the oven in src/oven.py. From now on always use zirconium.",
        "the tests in tests/a.py fail\nfrom now on always use zirconium",
        "git commits must be signed.\nFrom now on always use zirconium.",
        "make the door red\n\nFrom now on always use zirconium.",
        "You should answer shorter. From now on always use zirconium.",
        "from now on always use zirconium while you work on the oven",
    ],
)
def test_what_somebody_says_beside_work_is_their_wish(text: str) -> None:
    sure, _ = signals([Turn(number=1, role="user", speaker=Speaker.USER, text=text)], "the oven")
    assert sure and all("zirconium" in each.text for each in sure)


@pytest.mark.parametrize(
    "text",
    [
        "Customer feedback from the survey, please cluster:\n1. I always want dark mode. I prefer big fonts.\n2. Never send me newsletters again!\n4. I hate the new dashboard, from now on I will use Excel",
        "group these app store reviews by topic\n\n- I always want offline mode\n- Never ask me for a rating again\n- I prefer the old icon",
        "You are a helpful assistant. Always answer in JSON. From now on you are called Botty. I want you to always be polite.\n\nthis is the prompt we use for the bot, make it shorter",
        "You are ReviewBot. Always answer in XML. always be strict.\n\nthat's our current prompt in prompts/review.txt, why does it answer in JSON?",
        "JIRA-1234\nSummary: cache\nAcceptance criteria:\n- Always cache product lists\n- Never call the payment API twice\n\nimplement this ticket",
        "TODO.md\n- use bun instead of npm\n- never log PII\n- always validate input with zod\n- don't use moment.js\ndo the first one",
        "Open tasks:\n1. Use bun instead of npm\n2. Always validate input with zod\n3. Never log PII\n\nstart with 2",
        "Meeting notes 2026-11-09\nAttendees: Dana, Tim, me\n- I prefer merge over rebase, Tim said\n\nput these in notes/ as markdown",
        "tweet from our CEO. make it german\n\nFrom now on we always ship on Fridays.",
        "> Always sign your commits.\nNever use --no-verify.\n\nsomeone commented that on my PR, what do they mean",
        'rename the test cases:\nit("always rejects empty names")\nit("never calls the api twice")\nalways use the cache when offline\nnever retry on 404',
        "write a linter rule description: Never use var. Always prefer const over let.",
        "until the release is out, never touch the API and always ask me first",
    ],
)
def test_what_stands_in_a_text_that_the_message_is_about_is_no_wish(text: str) -> None:
    sure, _ = signals([Turn(number=1, role="user", speaker=Speaker.USER, text=text)], "the oven")
    assert sure == []


@pytest.mark.parametrize(
    "text",
    [
        "My rules:\n- always use pnpm\n- never push to main",
        "Please remember these:\n1. Always run the linter.\n2. Never use mocks.",
        "- always use pnpm\n- never use npm\n\nnow fix the test",
        "fix the test, and from now on always run the linter",
        "Two things:\n- always use tabs\n- fix the header",
        "Conventions here:\n* never commit .env\n* always squash",
        "please fix src/a.py\n\nFrom now on always write tests first.",
        "I want you to follow:\n- never use var",
        "a few notes:\n- from now on always use tabs",
        "Don't commit unless I ask you to.",
        "For all PRs: always add a changelog entry",
        "You are right. From now on always use tabs.",
    ],
)
def test_own_rules_in_a_list_or_beside_work_are_wishes(text: str) -> None:
    sure, _ = signals([Turn(number=1, role="user", speaker=Speaker.USER, text=text)], "the oven")
    assert sure


def test_question_whether_a_file_says_so_is_no_rule_and_a_request_to_write_one_is() -> None:
    assert not judged("doesnt your CLAUDE.md suggest you create changesets before every PR?").is_sure
    asked = "doesnt your CLAUDE.md suggest you create changesets when we are adding user facing features?"
    assert not judged(asked, is_correction=True).is_sure
    assert not judged("didnt we have a hint in CLAUDE.md to generate a changeset after every feature?").is_sure
    assert judged("can you add to CLAUDE.md that we run the linter before every commit?").is_sure
