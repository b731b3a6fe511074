"""The certificate of a ledger's budgets: one page of HTML for the data protection officer, who reads its first section.

It has no script and fetches nothing, and every text of others in it is escaped. What holds the sections together lies beside
this file: ``certificate.html`` and its style sheet ``certificate.css``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR
from fractions import Fraction
from importlib.resources import files
from typing import Any

from pandas_dp.books import budget_words, odometer
from pandas_dp.books import certificate_contents as contents
from pandas_dp.books.amounts import deciding, kept, rho_of_groups, told_amount
from pandas_dp.books.certificate_contents import Account, Certificate
from pandas_dp.books.certificate_drawings import plot
from pandas_dp.core.filters import ZCDPFilter
from pandas_dp.core.ledger import LedgerEntry
from pandas_dp.facts.periods import Periods
from pandas_dp.release.base import ROWS_FROM
from pandas_dp.release.html import visible
from pandas_dp.release.summary import Shown

MOST_NAMES = 20  # of other budgets
AGAIN = "entry {before} asked the same; this one has another price, table, version or max_groups, or is a new draw"
SMALL = ' class="small"'
SHORT_ROWS = 12  # an answer of so few is not broken over two sheets
KINDS = {"open": "opened", "amend": "terms replaced", "adopt": "vouched for"}


class Page(str):
    """A page of HTML that a prompt shows as one line: thousands of characters of it tell nobody anything."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Say what it is and how to read it."""
        return f"<certificate, {len(self):,} characters of HTML; session.report('report.html') writes it, print() shows it>"


def page(made: Certificate) -> Page:
    """Return the page about what was read: a text, a whole document of HTML. Every text of others in it is escaped."""
    names = [account.name for account in made.accounts]
    title = f"Privacy certificate of {names[0]}" if names else "Privacy certificate of an empty ledger"
    where = f"ledger file {made.ledger}" if made.ledger else "a ledger in memory, lost when Python stops"
    facts = [
        ("Made at", f"{made.made:%Y-%m-%d %H:%M:%S} UTC"),
        ("Made from", where),
        ("Checked", "every entry of the ledger was read, and no damage was found"),
    ]
    if made.others:
        more = f" and {len(made.others) - MOST_NAMES:,} more" if len(made.others) > MOST_NAMES else ""
        others = ", ".join(map(repr, made.others[:MOST_NAMES])) + more
        facts.append(
            (
                "Also in the ledger",
                f"{others}: not on this page; if they are about the same people, they add to it",
            )
        )
    short = [_in_short(account, made) for account in made.accounts if account.whole not in made.names]
    budgets = [*short, *(_budget(account, made, number) for number, account in enumerate(made.accounts, 1))]
    beside = files("pandas_dp.books")
    document, style = (beside.joinpath(f"certificate.{kind}").read_text("utf-8") for kind in ("html", "css"))
    main = "\n".join(budgets) or "<p>The ledger holds no budget.</p>"
    return Page(document.format(title=visible(title), css=style, facts=_facts(facts), main=main))


def _budget(account: Account, made: Certificate, number: int) -> str:
    """One budget: promise, warnings, books, answers, record, chain."""
    rule, unit, entries = account.rule, account.unit, account.entries
    asked = [entry for entry in entries if entry.kind == "query"]
    answers = [account.answers[entry.sequence] for entry in asked if entry.sequence in account.answers]
    hidden, relation = contents.whose(unit)
    counted, why = contents.theorem(kept(rule, account.state), unit)
    facts = [
        ("Unit", hidden),
        ("Neighbouring relation", relation),
        ("Accounting", counted),
        ("The total does not hold", contents.OVER)
        if budget_words.is_over(rule, account.state)
        else ("Why the total holds", why),
    ]
    if account.whole:
        facts.insert(0, ("Part of", f"budget {account.whole!r}, which paid for all of it when it was made"))
    facts.append(("Opened", f"{entries[0].time:%Y-%m-%d %H:%M} UTC"))
    told = account.whole is not None and account.whole in made.names  # of a part most is said above
    warned = contents.of_uses(entries, answers) if told else contents.warnings(rule, unit, entries, answers)
    label = f"budget-{number}"
    latest = list(enumerate(asked, 1))[-contents.MOST_QUESTIONS :]
    before = contents.asked_before(asked)
    questions = [_question(e, account, place, f"{number}-{e.sequence}", before.get(e.sequence)) for place, e in latest]
    sections = [
        f'<section aria-labelledby="{label}">\n<h2 id="{label}">Budget {visible(repr(account.name))}</h2>',
        f'<p class="promise">{visible(contents.promise(account))}</p>',
        f"<h3>What is protected</h3>\n{_facts(facts)}{'' if told else _tables(made)}",
        "" if told and not warned else f"<h3>Warnings</h3>\n{_warnings(warned)}",
        f"<h3>Spent and left</h3>\n{_books(account)}",
        "" if told else f"<h3>What groups are promised</h3>\n{_groups(account)}",
        "" if told else f"<h3>What is assumed</h3>\n{_list(contents.assumptions(rule, unit))}",
        f"<h3>Questions</h3>\n{_values_note(asked, answers)}{_rest(len(asked), made)}" + "".join(questions),
        f"<h3>Record</h3>\n{_record(entries)}{_rest(len(entries) - len(asked), made)}",
        f"<h3>Chain of entries</h3>\n{_chain(account, made)}</section>",
    ]
    return "\n".join(filter(None, sections))


def _in_short(account: Account, made: Certificate) -> str:
    """The first page of a budget: what everybody should read."""
    warned = contents.warnings(account.rule, account.unit, account.entries, list(account.answers.values()))
    name = "" if len(made.accounts) == 1 else f": budget {account.name!r}"
    return f'<section class="short"><h2>In short{visible(name)}</h2>{_facts(contents.in_short(account, len(warned)))}</section>'


def _facts(facts: Iterable[tuple[str, str]], kind: str = "") -> str:
    return f"<dl{kind}>" + "".join(f"<dt>{visible(a)}</dt><dd>{visible(b)}</dd>" for a, b in facts) + "</dl>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{visible(line)}</li>" for line in lines) + "</ul>"


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], numbers: bool = True) -> str:
    """A table whose first column names its rows; the others are numbers, or texts."""
    kind, wide = (' class="number"', "") if numbers else ("", ' class="texts"')
    columns = "".join(f'<th scope="col"{kind if i else ""}>{visible(name)}</th>' for i, name in enumerate(head))
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td{kind}>{visible(cell)}</td>" for cell in rest)
        lines.append(f'<tr><th scope="row">{visible(first)}</th>{cells}</tr>')
    body = "\n".join(lines)
    top = f"<caption>{visible(caption)}</caption>\n<thead><tr>{columns}</tr></thead>"
    return f"<table{wide}>{top}\n<tbody>{body}</tbody></table>"


def _warnings(found: list[tuple[str, str]]) -> str:
    if not found:
        return "<p>None.</p>"
    lines = "".join(f"<li><strong>{visible(short)}</strong> {visible(full)}</li>" for short, full in found)
    return f'<ul class="warnings">{lines}</ul>'


def _tables(made: Certificate) -> str:
    if not made.live:
        return '<p class="muted">The ledger holds neither names of tables nor anything of their content.</p>'
    if not made.tables:
        return '<p class="muted">The session that made this page holds no table any more.</p>'
    rows = [(name, facts or "none") for name, facts in made.tables]
    return _table(
        "Tables of the session that made this page",
        ("Table", "Public facts that the owner stated"),
        rows,
        numbers=False,
    )


def _books(account: Account) -> str:
    """What is spent and left in every currency."""
    rule, state, unit = account.rule, account.state, account.unit
    budget, spent, left = rule.budget, account.spent, odometer.left(rule, state, unit, None)
    words = [("Spent, as the session prints it", str(spent)), ("Left", str(left) if left.epsilon > 0 else "used up")]
    told, spent = "Spent and left in every measure in which this budget is counted", getattr(spent, "period", spent)
    if unit.period:
        told, words[1] = f"{told}, in the {unit.period} that spent most", ("Left", str(left))
    finite = spent.epsilon.is_finite()
    rest = (
        None if isinstance(rule, ZCDPFilter) else Fraction(left.epsilon)
    )  # of these epsilons no difference tells anything
    proved = (Fraction(spent.epsilon) if finite else None, rest, budget.epsilon)
    sums: list[tuple[str, Any, Any, Any]] = [("Epsilon spent, as proved", *proved)]
    if budget.delta:
        sums.append(("Delta at that epsilon", Fraction(spent.delta), Fraction(left.delta), budget.delta))
    sums += [(name, used, max(total - used, Fraction(0)), total) for name, used, total in deciding(rule, state)]
    rows = [
        (
            name,
            "not finite" if used is None else told_amount(used),
            "as rho, below" if rest is None else told_amount(rest, ROUND_FLOOR) if rest > 0 else "used up",
            told_amount(total),
        )
        for name, used, rest, total in sums
    ]
    return _table(told, ("Currency", "Spent", "Left", "Total"), rows) + _facts(words)


def _groups(account: Account) -> str:
    column = account.unit.column
    thing, of = ("row", "") if column is None else ("unit", f" of {column!r}")
    promised = odometer.promised(account.rule, account.state)
    of += f" in one {account.unit.period}" * bool(account.unit.period)
    rho = rho_of_groups(account.rule, account.state)
    rows = [(f"{k} {thing}{'s' if k > 1 else ''}{of}", odometer.of_group(promised, k, rho)) for k in contents.GROUPS]
    return _table(
        "The promise of the whole budget for a group, such as a household", ("Group", "Promise"), rows, numbers=False
    )


def _values_note(asked: list[LedgerEntry], answers: list[Shown]) -> str:
    if not asked:
        return "<p>Nothing was asked.</p>"
    why = "Values are shown as they were released."
    if len(answers) < len(asked):
        why += (
            " There are none for streams, for parts of the budget, which have their own questions, and for questions that "
            "failed. A budget in memory keeps only the latest thousand."
        )
    return f'<p class="muted">{len(asked):,} in all. {visible(why)}</p>'


def _rest(count: int, made: Certificate) -> str:
    """Where those are that are too many for a page."""
    if count <= contents.MOST_QUESTIONS:
        return ""
    how = f"pandas-dp ledger export {shlex.quote(made.ledger)}" if made.ledger else "session.report('statement.json')"
    return f"<p>The latest {contents.MOST_QUESTIONS:,} of {count:,} stand here. All of them: <code>{visible(how)}</code>.</p>"


def _question(entry: LedgerEntry, account: Account, place: int, number: str, before: int | None) -> str:
    """One question, what it cost and what is known of its answer; `before` is the entry that asked the same before."""
    facts = [("Asked at", f"{entry.time:%Y-%m-%d %H:%M:%S} UTC, entry {entry.sequence}"), ("Price", entry.price)]
    if before is not None:
        facts.append(("Asked before", AGAIN.format(before=before)))
    inner = [("Charged", _charged(entry, account))]
    body, told = "", account.answers.get(entry.sequence)
    if told is None:
        facts.append(("Value", "not on this page"))
    else:
        inner.append(("Noise", told.mechanism))
        inner.append(("Rows", ROWS_FROM.get(told.lineage, told.lineage)))
        inner += [] if told.computed is None else [(contents.COMPUTED, told.computed)]
        body = _answer(told, number)
    short = ' class="short"' if told is None or len(told.rows) <= SHORT_ROWS else ""
    return (
        f'<article{short} aria-labelledby="entry-{number}">\n'
        f'<h4 id="entry-{number}">{place}. {visible(entry.query)}</h4>\n{body}{_facts(facts, SMALL)}'
        f"<details><summary>For auditors</summary>{_facts(inner, SMALL)}</details></article>\n"
    )


def _charged(entry: LedgerEntry, account: Account) -> str:
    charge, rule = entry.charge, account.rule
    if charge is None:
        return "nothing"
    words = ["no finite epsilon" if charge.epsilon is None else f"epsilon={told_amount(charge.epsilon)}"]
    if charge.renyi:
        words.append(f"{getattr(rule, 'currency', 'divergence')} {told_amount(charge.renyi)}")
    if charge.delta:
        words.append(f"delta={told_amount(charge.delta)}")
    if charge.periods is not None:
        named = dict.fromkeys(map(Periods.from_text(account.unit.periods or "").name, charge.periods))
        each = f"each {account.unit.period} of " if len(named) > 1 else ""
        words.append(f"to {each}{' to '.join(named)}")
    return ", ".join(words)


def _answer(told: Shown, number: str) -> str:
    """A value with its error bar, drawn where it is a vector."""
    notes = "".join(f'<p class="caution">{visible(note)}</p>' for note in told.cautions)
    notes += "".join(f'<p class="muted">{visible(note)}</p>' for note in told.notes)
    if not told.head:
        return f'<p class="answer">{visible(told.text)}</p>{notes}'
    several = len(told.drawings) > 1
    pictures = "".join(
        f"<figure>{'<figcaption>' + visible(drawing['name']) + '</figcaption>' if several else ''}"
        f"{plot(drawing, told.labels, f'{number}-{i}')}</figure>"
        for i, drawing in enumerate(told.drawings)
    )
    return pictures + _table(told.text, told.head, told.rows) + notes


def _record(entries: list[LedgerEntry]) -> str:
    rows = [
        (f"entry {e.sequence}, {KINDS.get(e.kind, e.kind)}, {e.time:%Y-%m-%d %H:%M} UTC", e.query, e.price)
        for e in [e for e in entries if e.kind not in ("query", "draw")][-contents.MOST_QUESTIONS :]
    ]
    told = "Other entries: how the budget was opened and changed, and what was noted"
    return _table(told, ("Entry", "Text", "Terms"), rows, numbers=False)


def _chain(account: Account, made: Certificate) -> str:
    how = f"pandas-dp ledger verify {shlex.quote(made.ledger)}" if made.ledger else "session.report()"
    return (
        f"<dl><dt>Entries</dt><dd>{len(account.entries):,}</dd><dt>Head</dt><dd><code>{visible(account.head)}</code></dd></dl>"
        '<p class="muted">Each entry carries a digest (SHA-256) of itself and of the one before; the head is the last of them. '
        "As long as the head is this one, no entry was changed, removed or added: "
        f"<code>{visible(how)}</code> shows it again.</p>"
    )
