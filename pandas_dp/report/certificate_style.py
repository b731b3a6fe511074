"""The style sheet of a certificate: light and dark by the reader's wish, and paper. It loads nothing."""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#59616b",
    "line": "#d0d5da",
    "panel": "#f5f7f9",
    "accent": "#1f5f99",
    "warning": "#8a4b00",
    "warned": "#fff6e8",
}
DARK = {
    "paper": "#14171a",
    "ink": "#e6e9ec",
    "muted": "#a3acb5",
    "line": "#3a4149",
    "panel": "#1d2126",
    "accent": "#7db7ea",
    "warning": "#f0b45c",
    "warned": "#2a2318",
}


def _theme(colours: dict[str, str]) -> str:
    return "".join(f"--{name}: {colour}; " for name, colour in colours.items())


CSS = (
    f"""
:root {{ color-scheme: light dark; {_theme(LIGHT)}}}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_theme(DARK)}}} }}
"""
    + """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 54rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; }
h1 { font-size: 1.9rem; }
h2 { font-size: 1.4rem; margin-top: 3rem; padding-bottom: .4rem; border-bottom: 2px solid var(--ink); }
h3 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
h4 { font: 600 .95rem/1.45 ui-monospace, "Cascadia Mono", "Liberation Mono", Menlo, monospace; }
p, ul { margin: .5rem 0; }
ul { padding-left: 1.2rem; }
li { margin: .25rem 0; }
code { font: .9em ui-monospace, "Cascadia Mono", "Liberation Mono", Menlo, monospace; unicode-bidi: isolate; }
.lead { font-size: 1.1rem; color: var(--muted); margin-top: .3rem; }
.promise { margin: 1.2rem 0; padding: .9rem 1.1rem; border-left: 4px solid var(--accent); background: var(--panel);
  font-size: 1.1rem; }
.muted, figcaption, caption, dt { color: var(--muted); }
.muted, figcaption { font-size: .9rem; }
figcaption { font-weight: 500; }
dl { display: grid; grid-template-columns: minmax(8rem, 11rem) 1fr; gap: .35rem 1.2rem; margin: .8rem 0; }
dt, dd { margin: 0; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .93rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .9rem; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line);
  unicode-bidi: isolate; }
table.texts { table-layout: fixed; }
thead th { border-bottom-color: var(--ink); }
tbody th { font-weight: 500; }
.number { text-align: right; }
th.number, td.number { padding-right: .2rem; padding-left: .8rem; overflow-wrap: normal; }
.warnings { list-style: none; padding: 0; }
.warnings li { padding: .7rem 1rem; margin: .6rem 0; background: var(--warned); border-left: 4px solid var(--warning); }
.warnings strong { color: var(--warning); display: block; }
article { border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1.1rem; margin: .9rem 0; }
dl.small { font-size: .9rem; gap: .1rem 1.2rem; margin: .6rem 0 0; }
dl.small code { color: var(--muted); }
.answer { font-size: 1.25rem; margin: .5rem 0; }
.caution { color: var(--warning); }
figure { margin: .8rem 0 .4rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; fill: var(--muted); }
.grid { stroke: var(--line); }
.bar { fill: var(--accent); fill-opacity: .55; }
.whisker { stroke: var(--ink); stroke-width: 1.2; fill: none; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: .1rem; } dd { margin-bottom: .5rem; } }
@page { margin: 18mm 16mm; }
@media print {
  :root { font-size: 10pt; }
  body { max-width: none; padding: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3, h4, caption, .promise { break-after: avoid; }
  h2, h3, h4, figure, tr, dd, .warnings li, .promise { break-inside: avoid; }
  article.short { break-inside: avoid; }
  thead { display: table-header-group; }
}
"""
)
