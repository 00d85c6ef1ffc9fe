"""The style of report pages, light and dark, from a phone to a wide screen."""

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5c6570;--line:#d9dee4;--card:#fff;--back:#f5f6f8;--mark:#0b63ce;
--good:#2f8f5b;--on:#c58a12;--bad:#c8453b;--warn:#fff3d6}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3adb8;--line:#343a42;--card:#1d2126;--back:#14171a;--mark:#7db4ff;
--good:#4fb57e;--on:#e0ab3f;--bad:#e8756b;--warn:#3a2f14}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:62rem;margin:0 auto;padding:2rem 1rem 4rem}h1{font-size:1.5rem;margin:0 0 .25rem;white-space:pre-wrap}
h2{font-size:1.1rem;margin:2.2rem 0 .6rem}
h3{font-size:1rem;margin:1.8rem 0 .4rem;color:var(--soft);border-bottom:1px solid var(--line);padding-bottom:.2rem}
a{color:var(--mark)}.soft,.line.dim{color:var(--soft)}.line{margin:.4rem 0}.line.strong{font-weight:650}.line.bad{color:var(--bad)}
.line.warn{background:var(--warn);border-left:.35rem solid var(--on);border-radius:.6rem;padding:.8rem 1.2rem;font-weight:600}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.2rem;margin:.6rem 0}
.card>:first-child{margin-top:0}.card>:last-child{margin-bottom:0}
.decision{border-left:.35rem solid var(--mark);font-size:1.08rem}.decision dl,.decision p.line{font-size:1rem}
.turn{border-left:.3rem solid hsl(var(--hue) 55% 50%)}.asker{border-left-color:var(--soft)}.turn dl{font-size:.93rem}
header{display:flex;gap:.1rem .8rem;flex-wrap:wrap;align-items:baseline;margin-bottom:.3rem}:target{outline:2px solid var(--mark)}
.list{padding-left:2.2rem}.list.bad li{color:var(--bad)}.said{white-space:pre-wrap}
.words>*{margin:.5rem 0}.words>:first-child{margin-top:0}.words>:last-child{margin-bottom:0}.words .heading{font-weight:650}
.words blockquote{margin:.5rem 0;padding-left:.9rem;border-left:.2rem solid var(--line);color:var(--soft)}
.words pre,pre{white-space:pre-wrap;font-size:.9rem}.words code{font-size:.92em}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.6rem 0}dt{color:var(--soft)}dd{margin:0}
details summary{cursor:pointer;color:var(--soft);font-size:.88rem}.turn details.card{padding:.4rem .8rem}
.tag{font-size:.85rem;border:1px solid var(--line);border-radius:1rem;padding:0 .6rem}
.tag.good{border-color:var(--good)}.tag.warn{border-color:var(--on)}.tag.bad{border-color:var(--bad)}.tag.strong{border-color:var(--mark)}
.tally{display:flex;gap:2px;height:.7rem;border-radius:.35rem;overflow:hidden;margin:1rem 0 .4rem;background:var(--line)}
.bar{display:grid;grid-template-columns:11rem minmax(6rem,1fr) minmax(8rem,1.4fr);gap:.2rem .9rem;align-items:center;font-size:.9rem;
margin:.4rem 0}.track{height:.7rem;border-radius:.3rem;background:var(--line);overflow:hidden}
.track i{display:block;height:100%;background:var(--mark)}.tally .good,.track .good{background:var(--good)}
.tally .warn{background:var(--on)}.tally .bad,.track .bad{background:var(--bad)}
.chart{overflow-x:auto}svg{width:100%;min-width:36rem;height:auto}svg text{fill:var(--soft);font-size:12px}
.grid{stroke:var(--line)}.bound{stroke:var(--soft);stroke-dasharray:4 4}
.key{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;font-size:.88rem}.key i{display:inline-block;width:.8rem;height:.8rem;
border-radius:.2rem;margin-right:.35rem;vertical-align:-.08rem}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.93rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
th{overflow-wrap:normal}td:not(.wide){overflow-wrap:normal;white-space:nowrap}td.wide{min-width:16ch}tbody tr:last-child td{border-bottom:0}
@media(max-width:600px){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}
.bar{grid-template-columns:1fr auto}.bar .track{grid-column:1/-1;grid-row:2}
.card.table{background:none;border:0;padding:0}.card.table thead{display:none}.card.table table,.card.table tbody{display:block}
.card.table tr{display:block;background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.5rem .9rem;margin:.5rem 0}
.card.table td{display:flow-root;border:0;padding:.15rem 0;min-width:0}
.card.table td::before{content:attr(data-name);color:var(--soft);float:left;width:8rem;margin-right:.8rem}
.card.table td.wide::before{display:block;float:none;width:auto}
.card.table td:not(.wide){white-space:normal}}
"""
