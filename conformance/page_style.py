"""How the page looks: light and dark, on a phone, and printed."""

STYLE = """
:root{--bg:#fff;--ink:#1c2430;--soft:#5a6675;--line:#d9dfe7;--panel:#f5f7fa;--bad:#b3261e;
--good:#1a6b3c;--warn:#8a5a00;--avl:#dcebff;--acq:#ffe7b8;--ack:#cdeed6;--dlq:#f3d6f5;--arc:#dde1e6;
--inp:#ffd3bd;--mark:#b3261e}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--ink:#e6eaf0;--soft:#9aa6b5;--line:#303a47;
--panel:#1a2028;--bad:#ff8a80;--good:#7fd6a0;--warn:#f0c060;--avl:#1d3f66;--acq:#624708;--ack:#1b5031;
--dlq:#562b5c;--arc:#3a424d;--inp:#6b3319;--mark:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.7rem;line-height:1.2;margin:.1rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2rem 0 .6rem}
h3{font-size:1.05rem;line-height:1.35;margin:0 0 .7rem;overflow-wrap:anywhere}
h4{font-size:.95rem;margin:1rem 0 .3rem}
a{color:inherit;text-decoration-color:var(--soft);overflow-wrap:anywhere}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.9em}
cite{font-style:normal;font-weight:600}
.kicker{margin:0;color:var(--soft);letter-spacing:.04em}
.note,.legend,footer{color:var(--soft);font-size:.88rem}
.verdict,.badge{display:inline-block;border-radius:.3rem;padding:.05rem .55rem;border:1.5px solid;
font-weight:700}
.badge{font-size:.8rem;padding:0 .45rem}
.deviates,.new,.gone{color:var(--bad)}.conforms{color:var(--good)}.unknown,.known{color:var(--warn)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(6.5rem,1fr));gap:.5rem;
margin:1rem 0}
.tiles div{background:var(--panel);border:1px solid var(--line);border-radius:.4rem;
padding:.4rem .7rem}
.tiles dt{color:var(--soft);font-size:.8rem}.tiles dd{margin:0;font-size:1.25rem;font-weight:650}
nav ol{padding-left:1.6rem;margin:0}nav li{margin:.2rem 0}
article{border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1.2rem 0}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.25rem .9rem;margin:0 0 1rem}
.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:.4rem 0}
table{border-collapse:collapse;font-size:.86rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line)}
thead th{color:var(--soft);font-weight:600}
.steps{width:100%;min-width:36rem}.steps td:first-child{color:var(--soft)}
.again code{user-select:all;overflow-wrap:anywhere}
.copy{font:inherit;font-size:.8rem;border:1px solid var(--line);border-radius:.3rem;cursor:pointer;
background:var(--panel);color:var(--ink)}
details.form{border-top:1px solid var(--line);padding:.4rem 0}
summary{cursor:pointer;overflow-wrap:anywhere}
.steps tbody tr:last-child{background:var(--panel)}
.picture th,.picture td{text-align:center;padding:.15rem .25rem}
.picture tbody th{text-align:left;white-space:nowrap;padding-right:.7rem;font-weight:400}
.picture small,.picture i,.picture b{display:block;line-height:1.25}
.picture th small{color:var(--soft)}
.picture td{border:1px solid var(--line);min-width:2.9rem;height:4.4rem}
.picture i{font-style:normal;font-size:.75rem;color:var(--mark);height:1.3em;white-space:nowrap}
.picture td small{font-size:.75rem;white-space:nowrap}
.below,.after{background:var(--panel);color:var(--soft)}
.below{background:repeating-linear-gradient(135deg,var(--panel) 0 4px,transparent 4px 8px)}
.AVL{background:var(--avl)}.ACQ{background:var(--acq)}.ACK{background:var(--ack)}
.DLQ{background:var(--dlq)}.ARC{background:var(--arc)}.INP{background:var(--inp)}
.cell.AVL,.cell.ACQ,.cell.ACK,.cell.DLQ,.cell.ARC,.cell.INP{color:var(--ink)}
.cell.differs{outline:3px solid var(--mark);outline-offset:-3px}
.key{border-radius:.2rem;padding:0 .3rem;color:var(--ink)}
.legend span{white-space:nowrap;margin-right:.5rem}
.bars{display:grid;gap:.3rem}
.bars div{display:grid;grid-template-columns:minmax(8rem,18rem) 1fr;gap:.8rem}
.bars dd{margin:0}meter{width:8rem;vertical-align:middle}
.columns{columns:22rem;font-size:.86rem;padding-left:1.2rem;margin:.3rem 0}
.columns li{break-inside:avoid;overflow-wrap:anywhere}
@media (max-width:40rem){.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.5rem}
.bars div{grid-template-columns:1fr;gap:0}}
@media print{:root{--bg:#fff;--ink:#000;--soft:#444;--line:#999;--panel:#f2f2f2;--bad:#900;
--good:#050;--warn:#640;--avl:#dcebff;--acq:#ffe7b8;--ack:#cdeed6;--dlq:#f3d6f5;--arc:#dde1e6;--inp:#ffd3bd;
--mark:#900}
body{font-size:10.5pt}main{max-width:none;padding:0}.scroll{overflow:visible}.steps{min-width:0}
article{border:0;border-top:1px solid var(--line);border-radius:0;padding:.6rem 0}
tr,.tiles,.picture{break-inside:avoid}h3{break-after:avoid}
.picture td{min-width:0}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
