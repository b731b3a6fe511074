# The few commands that people use; they take the tools of the active environment: pip install -e '.[test]'

.PHONY: test fast faults docs lint changelog

test:
	PANDAS_DP_TESTS=thorough pytest -m 'not nightly'

fast:
	pytest

faults:
	python -m tests.mutants

docs:
	sphinx-build -W --keep-going docs docs/_build/html

lint:
	ruff check .
	ruff format --check .
	mypy
	codespell README.md CONTRIBUTING.md CHANGELOG.md changes docs --skip docs/_build,docs/_generated,docs/reference/api,docs/notebooks/*.ipynb

changelog:
	towncrier build --yes
