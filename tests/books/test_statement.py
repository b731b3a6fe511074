"""The statement for programs tells what the certificate tells, exactly; the registry's entry has the form of its schema."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
import yaml
from support.frames import protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.__main__ import main
from pandas_dp.books.deployments import FIELDS, REQUIRED, checked

DAY = dt.date(2026, 11, 30)
ABOUT: dict[str, Any] = {
    "slug": "visits-by-ward",
    "name": "Visits by ward",
    "data_curators": ["City hospital"],
    "intended_use": "Planning",
    "data_product_type": "Summary statistics",
    "data_product_region": "Berlin",
    "description": 'Counts, "quoted":\n- on two lines, café',
    "publication_date": DAY,
    "authors": ["A. Steward"],
}
# The registry's schema, as of July 2026: names of fields, required ones with a star, and what they take.
ENTRY: dict[str, Any] = {
    "url_slug*": str,
    "status*": {"Converted", "Draft", "Pending", "Changes Required", "Approved"},
    "tier*": {1, 2, 3},
    "deployment*": {
        "basic*": {
            "name*": str,
            "data_curators*": [str],
            "intended_use*": str,
            "data_product_type*": set(FIELDS["data_product_type"]),
            "data_product_region*": str,
            "description*": str,
            "publication_date*": str,
            "data_product_sector": set(FIELDS["data_product_sector"]),
        },
        "dp_variant": {
            "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
            "data_domain": str,
            "unprotected_quantities": str,
        },
        "privacy_loss": {
            "privacy_unit": str,
            "privacy_unit_details": str,
            "privacy_parameters": {"epsilon": float, "delta": float, "rho": float},
            "privacy_parameters_details": str,
        },
        "deployment_model": {
            "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
            "model_name_details": str,
            "actors": str,
            "release_type": {"One release", "Many releases"},
            "release_type_details": str,
            "data_source_type": {"Static", "Dynamic"},
            "data_source_type_details": str,
            "access_type": {"Interactive", "Non-interactive"},
            "access_type_details": str,
        },
        "accounting": {"post_processing": str, "composition": str},
        "implementation": {"preprocessing_and_hyperparameter_tuning": str, "mechanisms": str, "justification": str},
        "administrative": {"sources": str, "notes": str, "registry_authors*": [str]},
    },
}


def faults(node: Any, form: Any, where: str = "") -> list[str]:
    """What of an entry is against the schema."""
    if isinstance(form, dict):
        known = {name.rstrip("*"): kind for name, kind in form.items()}
        found = [f"{where}.{name} is unknown" for name in node if name not in known]
        found += [f"{where}.{name} is missing" for name in form if name.endswith("*") and name[:-1] not in node]
        return found + [
            fault for name in node if name in known for fault in faults(node[name], known[name], f"{where}.{name}")
        ]
    if isinstance(form, set):
        return [] if node in form else [f"{where} is {node!r}"]
    if isinstance(form, list):
        return [] if node and all(isinstance(one, str) for one in node) else [f"{where} is {node!r}"]
    return [] if type(node) is form else [f"{where} is a {type(node).__name__}"]


@pytest.fixture
def asked() -> pd.DataFrame:
    df = protected(epsilon=3, delta=1e-6, schema={"age": {"bounds": (0, 120)}}, table="visits", version="7", name="v")
    df.dp(epsilon=Fraction(1, 3)).count()
    df.dp(rho=0.01).mean("age")
    df.dp.session.extend(to=4, reason="agreed")
    part = df.dp.allot("nightly", epsilon=1)
    part.dp(epsilon=0.5).count()
    return df


def ended(arguments: list[str]) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


def told(df: pd.DataFrame, path: Any, **options: Any) -> Any:
    assert df.dp.session.report(path, **options) is None
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def test_it_tells_what_was_spent_exactly(asked, tmp_path):
    made = told(asked, tmp_path / "s.json")
    assert (made["statement"], made["about"], made["ledger"]) == ("pandas_dp/1", {}, None)
    assert made["software"] == {"name": "pandas_dp", "version": pandas_dp.__version__}
    whole, part = made["budgets"]
    assert (whole["budget"], whole["part_of"], part["part_of"]) == ("v", None, "v")
    session = asked.dp.session
    assert Fraction(whole["total"]["epsilon"]) == 4
    assert Fraction(whole["spent"]["epsilon"]) == Fraction(session.spent.epsilon)
    assert Fraction(whole["spent"]["delta"]) == Fraction(session.spent.delta)
    assert whole["spent"]["words"] == str(session.spent)
    charges = [question["charge"] for question in whole["questions"]]
    assert [charge["epsilon"] for charge in charges] == ["1/3", None, "1"]
    renyi = sum(Fraction(charge["renyi"]) for charge in charges)
    assert Fraction(whole["spent"]["sums"]["renyi"]) == renyi
    assert [change["kind"] for change in whole["changes"]] == ["open", "amend"]
    assert whole["chain"]["head"] == session._ledger.heads()["v"]
    assert whole["tables"] == [{"name": "visits, version 7", "public_facts": "age: bounds (0, 120)"}]
    assert any("bounds (0, 120)" in line for line in whole["unprotected"])


def test_every_sentence_of_it_stands_on_the_certificate_or_beside_it(asked, tmp_path):
    from html import unescape

    page = unescape(asked.dp.session.report())
    for budget in told(asked, tmp_path / "s.json")["budgets"]:
        for text in [
            budget["accounting"]["words"],
            budget["accounting"]["why"],
            budget["unit"]["words"],
            budget["chain"]["head"],
        ]:
            assert text in page
        for warning in budget["warnings"]:
            assert warning["full"] in page
        for question in budget["questions"]:
            assert question["ask"] in page
            assert question["price"] in page
            assert question["mechanism"] is None or question["mechanism"] in page


def test_answers_stand_in_it_where_they_are_asked_for(asked, tmp_path):
    plain, full = told(asked, tmp_path / "s.json"), told(asked, tmp_path / "t.json", values=True)
    assert all("answer" not in question for budget in plain["budgets"] for question in budget["questions"])
    texts = [question["answer"] for budget in full["budgets"] for question in budget["questions"]]
    assert sum(answer is not None for answer in texts) == 3
    assert all("(95 %)" in answer["text"] for answer in texts if answer)


@pytest.mark.parametrize(
    "terms", [{"epsilon": 2}, {"epsilon": 2, "delta": 1e-6}, {"rho": 0.5}, {"epsilon": 2, "neighbors": "replace_one"}]
)
@pytest.mark.parametrize(
    "more", [{}, {field: "One" for field in FIELDS if FIELDS[field] == "text"} | {"publication_date": DAY}]
)
def test_the_entry_keeps_the_schema(terms, more, tmp_path):
    df = protected(unit="city", max_rows=3, **terms) if "epsilon" in terms else protected(None, None, **terms)
    df.dp(rho=0.01).count() if "delta" in terms or "rho" in terms else df.dp(epsilon=0.5).count()
    made = told(df, tmp_path / "entry.yaml", about=ABOUT | more)
    assert faults(made, ENTRY) == []
    deployment, budget = made["deployment"], df.dp.session.left
    assert deployment["basic"]["description"] == (ABOUT | more)["description"]
    assert deployment["basic"]["publication_date"] == "2026-11-30"
    assert made["tier"] == (3 if more else 2)
    delta = float(budget.delta + df.dp.session.spent.delta)
    assert deployment["dp_variant"]["variant_name"] == ("Approximate DP" if delta else "Pure DP")
    assert deployment["privacy_loss"]["privacy_parameters"].get("delta", 0.0) == pytest.approx(delta, rel=1e-9)
    assert "discrete" in deployment["implementation"]["mechanisms"]


def test_the_schema_finds_faults():
    found = faults(
        {"url_slug": 1, "status": "New", "tier": 2, "deployment": {"basic": {"name": ""}, "extra": 1}}, ENTRY
    )
    assert found[:4] == [
        ".url_slug is a int",
        ".status is 'New'",
        ".deployment.extra is unknown",
        ".deployment.basic.data_curators* is missing",
    ]


def test_a_part_is_in_the_entry_of_the_whole(asked, tmp_path):
    made = told(asked, tmp_path / "entry.yaml", about=ABOUT)
    assert made["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 4.0, "delta": 1e-6}


@pytest.mark.parametrize("field", REQUIRED)
def test_what_the_registry_requires_is_asked_for(field, tmp_path):
    df = protected(epsilon=1)
    about = {name: said for name, said in ABOUT.items() if name != field}
    with pytest.raises(ArgumentValueError, match=rf"asks for more than the ledger knows: .* with {field}$"):
        df.dp.session.report(tmp_path / "e.yaml", about=about)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("about", "error", "match"),
    [
        ({"nmae": "x"}, ArgumentValueError, r"no field 'nmae'; did you mean 'name'\?"),
        ({3: "x"}, ArgumentValueError, "no field 3"),
        ({"name": " "}, ArgumentTypeError, "name must be a text"),
        ({"name": 3}, ArgumentTypeError, "name must be a text"),
        ({"authors": "A"}, ArgumentTypeError, r"authors must be a list of texts"),
        ({"authors": []}, ArgumentTypeError, "authors must be a list"),
        ({"access_type": "open"}, ArgumentValueError, "one of 'Interactive', 'Non-interactive'"),
        ({"access_type": []}, ArgumentValueError, "one of"),
        ({"publication_date": "30.11.2026"}, ArgumentValueError, "must be a day"),
        ({"publication_date": 3}, ArgumentValueError, "must be a day"),
        ("nowhere.toml", ArgumentValueError, "TOML file that can be read"),
        (3, ArgumentTypeError, "must be a mapping"),
    ],
)
def test_what_is_said_is_checked(about, error, match, tmp_path):
    session = protected(epsilon=1).dp.session
    with pytest.raises(error, match=match):
        session.report(tmp_path / "s.json", about=about)
    assert list(tmp_path.iterdir()) == []


def test_a_page_takes_no_statement(tmp_path):
    session = protected(epsilon=1).dp.session
    for options in ({"about": ABOUT}, {"values": True}):
        with pytest.raises(ArgumentValueError, match="belong to a statement"):
            session.report(tmp_path / "r.html", **options)
        with pytest.raises(ArgumentValueError, match="belong to a statement"):
            session.report(**options)
    with pytest.raises(ArgumentValueError, match="an entry has none"):
        session.report(tmp_path / "r.yaml", about=ABOUT, values=True)
    with pytest.raises(ArgumentTypeError, match="True or False"):
        session.report(tmp_path / "r.json", values=1)


def test_the_command_writes_both(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    df = pd.DataFrame({"age": [31, 45, 62] * 100})
    session = df.dp.protect(epsilon=3, ledger="v.dpledger", name="v")
    df.dp(epsilon=1).count()
    session.close()
    lines = [f"{field} = {json.dumps(said, default=str)}" for field, said in ABOUT.items()]
    (tmp_path / "about.toml").write_text("\n".join(lines), encoding="utf-8")
    assert ended(["ledger", "report", "v.dpledger", "--out", "s.json", "--about", "about.toml", "--values"]) == 0
    made = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert made["about"] == checked(ABOUT)
    assert made["budgets"][0]["chain"]["verify"] == "pandas-dp ledger verify v.dpledger"
    assert "(95 %)" in made["budgets"][0]["questions"][0]["answer"]["text"]
    assert ended(["ledger", "report", "v.dpledger", "--out", "e.yaml", "--about", "about.toml"]) == 0
    assert faults(yaml.safe_load((tmp_path / "e.yaml").read_text(encoding="utf-8")), ENTRY) == []
    assert ended(["ledger", "report", "v.dpledger", "--out", "e.yaml"]) == 2
    assert "asks for more than the ledger knows" in capsys.readouterr().err


def test_sums_that_decide_are_told_exactly(tmp_path):
    df = protected(epsilon=3)
    for price in (Fraction(1, 3), Fraction(1, 7)):
        df.dp(epsilon=price).count(), df.dp(epsilon=price).count("age")
    [budget] = told(df, tmp_path / "s.json")["budgets"]
    assert budget["spent"]["sums"] == {"epsilon": "20/21", "renyi": "0", "delta": "0"}
    assert [question["charge"]["epsilon"] for question in budget["questions"]] == ["1/3", "1/3", "1/7", "1/7"]
    assert Fraction(budget["spent"]["epsilon"]) >= Fraction(20, 21)


def test_warnings_and_odd_texts_stand_in_the_entry(tmp_path):
    df = protected(pd.DataFrame({"a": [1, 2], "p": [1, 2]}), epsilon=Fraction(1, 3), table="t\U0001f600\u2028\x85")
    df.dp.session.adopt(df[["p"]].copy(), reason="one column \ud800", table="small")
    about = ABOUT | {"description": "smile \U0001f600, half \ud83d, next\u0085line"}
    made = told(df, tmp_path / "e.yaml", about=about)
    assert faults(made, ENTRY) == []
    assert made["deployment"]["basic"]["description"] == "smile \U0001f600, half \ufffd, next\u0085line"
    assert "only if it was derived" in made["deployment"]["administrative"]["notes"]
    epsilon = made["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]
    assert Fraction(epsilon) >= Fraction(1, 3)
    assert epsilon == pytest.approx(1 / 3, rel=1e-12)
    assert told(df, tmp_path / "s.json", about=about)["budgets"][0]["total"]["epsilon"] == "1/3"


def test_a_public_number_of_rows_is_named(tmp_path):
    df = protected(epsilon=3, neighbors="replace_one", rows=True)
    [budget] = told(df, tmp_path / "s.json")["budgets"]
    assert any("the number of its rows" in line for line in budget["unprotected"])
    assert "the number of its rows" in df.dp.session.report()
