"use strict";
// Text of traces is set as text only: nothing here writes markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const STATES = ["AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED", "IN_PROGRESS"];
const COLOURS = ["--avl", "--acq", "--ack", "--dlq", "--arc", "--inp"];
const LEADER = 1, DIVERGES = 2, UNCHECKED = 4, GAP = 8, UNKNOWN = 16, SHOWN = 50;
const $ = (id) => document.getElementById(id);
const el = (name, text, attributes = {}) => {
  const node = document.createElement(name);
  if (text !== undefined && text !== null) node.textContent = String(text);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const span = (first, last) => (first === last ? `${first}` : `${first}–${last}`);
const when = (ms) => (part.timed && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : `${ms} ms`);
const known = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en"));

let part = null, view = [0, 1], heights = null, selected = { event: 0, offset: null };

// Levels: the whole trace in columns, and each event near the focus.

function prepared(level) {
  const count = level.seq.length, starts = [], times = [];
  let time = -Infinity, most = -Infinity;
  // A new leader may begin anywhere, as after a reset; else the start offset never goes back.
  level.bases = level.start.map((start, i) => (most = level.flags[i] & LEADER ? start : Math.max(most, level.highest[i])));
  for (let i = 0; i < count; i++) {
    starts.push(i ? level.last[i - 1] + 1 : level.first);
    time = Math.max(time, level.ms[i]);
    times.push(time);
  }
  starts.push(count ? level.last[count - 1] + 1 : 0);
  times.push(time + Math.max(1, (time - times[0]) / Math.max(count, 1)));
  level.axes = { event: starts, time: times };
  return level;
}
function stretches(level) {
  if (level.rects) return level.rects;
  const open = [], done = [];
  const change = (first, last, kind, column) => {
    let low = 0, high = open.length;
    while (low < high) { const mid = (low + high) >> 1; open[mid].last < first ? (low = mid + 1) : (high = mid); }
    let end = low;
    const kept = [];
    while (end < open.length && open[end].first <= last) {
      const old = open[end++];
      if (column > old.from) done.push({ ...old, first: Math.max(old.first, first), last: Math.min(old.last, last), to: column });
      if (old.first < first) kept.push({ ...old, last: first - 1 });
      if (old.last > last) kept.push({ ...old, first: last + 1 });
    }
    if (kind >= 0) kept.push({ first, last, kind, from: column });
    kept.sort((a, b) => a.first - b.first);
    open.splice(low, end - low, ...kept);
  };
  for (let i = 0; i < level.base.length; i += 3) change(level.base[i], level.base[i + 1], level.base[i + 2], 0);
  level.pieces.forEach((pieces, column) => {
    for (let i = 0; i < pieces.length; i += 3) change(pieces[i], pieces[i + 1], pieces[i + 2], column);
  });
  for (const rest of open) done.push({ ...rest, to: level.seq.length });
  return (level.rects = done);
}
const axis = (level) => level.axes[$("axis").value];
function level() {
  if (!part.overview) return part.detail;
  const ends = axis(part.detail);
  return view[0] >= ends[0] && view[1] <= ends[ends.length - 1] ? part.detail : part.overview;
}
function whole() {
  const ends = axis(part.overview || part.detail);
  return [ends[0], ends[ends.length - 1]];
}
function columnAt(level, value) {
  const ends = axis(level);
  let low = 0, high = level.seq.length - 1;
  while (low < high) { const mid = (low + high + 1) >> 1; ends[mid] <= value ? (low = mid) : (high = mid - 1); }
  return low;
}
function columnOf(level, event) {
  let low = 0, high = level.seq.length - 1;
  while (low < high) { const mid = (low + high) >> 1; level.last[mid] < event ? (low = mid + 1) : (high = mid); }
  return low;
}
function kindText(kind) {
  if (kind === undefined || kind < 0) return "not in the window";
  const [state, count, member, pending] = part.kinds[kind];
  return `${STATES[state]}(${count})${member < 0 ? "" : ` ${part.members[member]}`}${pending ? ", being written" : ""}`;
}
function kindAt(level, column, offset) {
  const stretch = stretches(level).find((r) => r.from <= column && column < r.to && r.first <= offset && offset <= r.last);
  return stretch ? stretch.kind : -1;
}

// Drawing.

function surface(canvas) {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  pen.font = "12px system-ui, sans-serif";
  return [pen, box.width, box.height];
}
const LEFT = 62, TOP = 16;
const across = (value, width) => LEFT + ((value - view[0]) / (view[1] - view[0] || 1)) * (width - LEFT);
const shift = (level, column) => ($("offsets").value === "relative" ? level.bases[column] : 0);
function visible(level) {
  return [columnAt(level, view[0]), columnAt(level, view[1])];
}
function fitted(level) {
  const [from, to] = visible(level);
  let low = Infinity, high = -Infinity;
  for (let i = from; i <= to; i++) {
    low = Math.min(low, (level.flags[i] & LEADER ? level.start[i] : level.lowest[i]) - shift(level, i));
    high = Math.max(high, level.end[i] - shift(level, i));
  }
  return [low, Math.max(high, low + 4) + (high - low) * 0.04];
}
let cachedFills = null;
function fills() {
  const by = $("colour").value;
  if (cachedFills && cachedFills.by === by && cachedFills.part === part) return cachedFills.list;
  const list = part.kinds.map(([state, count, member]) => {
    if (by === "member" && member >= 0) return `hsl(${(member * 137.5) % 360} 62% 52%)`;
    if (by === "count") return `hsl(${Math.max(0, 215 - count * 38)} 65% ${Math.max(30, 68 - count * 5)}%)`;
    return by === "member" && state !== 2 && state !== 4 ? colour("--avl") : colour(COLOURS[state]);
  });
  cachedFills = { by, part, list };
  return list;
}
function hatched(pen) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const ink = tile.getContext("2d");
  ink.strokeStyle = colour("--ink");
  ink.beginPath(); ink.moveTo(0, 6); ink.lineTo(6, 0); ink.stroke();
  return pen.createPattern(tile, "repeat");
}
function drawStrip() {
  const canvas = $("strip"), [pen, width, height] = surface(canvas), shown = level(), ends = axis(shown);
  const [low, high] = heights || fitted(shown), [from, to] = visible(shown);
  const up = (offset) => height - ((offset - low) / (high - low)) * (height - TOP);
  const list = fills(), hatch = hatched(pen), relative = $("offsets").value === "relative";
  const box = (first, last, column, end, kind) => {
    const x = Math.max(LEFT, across(ends[column], width)), right = Math.min(width, across(ends[end], width));
    const y = up(last + 1 - shift(shown, column)), bottom = up(first - shift(shown, column));
    if (right <= LEFT || x >= width || bottom < TOP || y > height) return;
    pen.fillStyle = list[kind];
    pen.fillRect(x, y, Math.max(right - x, 0.6), Math.max(bottom - y, 0.6));
    if (part.kinds[kind][3]) { pen.fillStyle = hatch; pen.fillRect(x, y, Math.max(right - x, 0.6), Math.max(bottom - y, 0.6)); }
  };
  const step = Math.max(1, Math.floor((to - from) / width));
  for (const r of stretches(shown)) {
    if (r.to <= from || r.from > to) continue;
    if (!relative) { box(r.first, r.last, r.from, r.to, r.kind); continue; }
    for (let i = Math.max(r.from, from - (from % step)); i < Math.min(r.to, to + 1); i += step) box(r.first, r.last, i, Math.min(i + step, r.to), r.kind);
  }
  pen.fillStyle = colour("--line");
  for (let i = from; i <= to; i++) {
    if (!(shown.flags[i] & UNKNOWN)) continue;
    const x = Math.max(LEFT, across(ends[i], width)), y = up(shown.end[i] - shift(shown, i));
    pen.fillRect(x, y, across(ends[i + 1], width) - x + 0.5, up(shown.start[i] - shift(shown, i)) - y);
  }
  const line = (values, style, wide, dash, lowest) => {
    pen.strokeStyle = colour(style); pen.lineWidth = wide; pen.setLineDash(dash); pen.beginPath();
    let drawn = false;
    for (let i = from; i <= to; i++) {
      if (values[i] === null) { drawn = false; continue; }
      const x = Math.max(LEFT, across(ends[i], width)), y = up(values[i] - shift(shown, i));
      drawn ? pen.lineTo(x, y) : pen.moveTo(x, y);
      if (lowest && !(shown.flags[i] & LEADER)) { pen.lineTo(x, up(lowest[i] - shift(shown, i))); pen.lineTo(x, y); }
      pen.lineTo(Math.max(LEFT, across(ends[i + 1], width)), y);
      drawn = true;
    }
    pen.stroke(); pen.setLineDash([]); pen.lineWidth = 1;
  };
  line(shown.log_start, "--log", 2, [2, 3]);
  line(shown.end, "--end", 1.5, []);
  line(shown.start, "--start", 2.5, [], shown.lowest);
  if (part.overview && shown !== part.detail) {
    const near = axis(part.detail), x = across(near[0], width), right = across(near[near.length - 1], width);
    pen.fillStyle = colour("--sel"); pen.fillRect(Math.max(LEFT, x), TOP - 4, Math.max(2, Math.min(width, right) - Math.max(LEFT, x)), 3);
  }
  cursor(pen, shown, width, height, up);
  for (let i = from; i <= to; i++) marks(pen, shown.flags[i], across(ends[i], width), across(ends[i + 1], width), height);
  pen.fillStyle = colour("--bg"); pen.fillRect(0, 0, LEFT, height);
  pen.fillStyle = colour("--soft"); pen.textAlign = "right";
  for (let i = 0; i <= 4; i++) {
    const value = Math.round(low + ((high - low) * i) / 4);
    pen.fillText(relative && value > 0 ? `+${value}` : value, LEFT - 5, Math.min(height - 3, Math.max(TOP + 6, up(value) + 4)));
  }
  pen.textAlign = "left";
  const label = (column) => ($("axis").value === "event" ? `seq ${shown.seq[column]}` : when(shown.ms[column]));
  pen.fillText(label(from), LEFT + 2, 11);
  pen.textAlign = "right"; pen.fillText(label(to), width - 3, 11); pen.textAlign = "left";
  canvas.up = { low, high, height };
}
function marks(pen, flags, x, right, height) {
  if (right < LEFT) return;
  const at = Math.max(LEFT, x);
  if (flags & UNCHECKED) { pen.fillStyle = colour("--warn"); pen.fillRect(at, height - 4, Math.max(1, right - at), 4); }
  if (flags & GAP) { pen.fillStyle = colour("--soft"); pen.fillRect(at, TOP, 3, height); }
  if (x < LEFT) return;
  if (flags & LEADER) { pen.strokeStyle = colour("--leader"); pen.setLineDash([5, 4]); pen.beginPath(); pen.moveTo(x, TOP); pen.lineTo(x, height); pen.stroke(); pen.setLineDash([]); }
  if (flags & DIVERGES) {
    pen.fillStyle = colour("--bad");
    pen.fillRect(x - 1, TOP, 2.5, height);
    pen.beginPath(); pen.moveTo(x - 6, TOP - 6); pen.lineTo(x + 6, TOP - 6); pen.lineTo(x, TOP + 4); pen.fill();
  }
}
function cursor(pen, shown, width, height, up) {
  const column = columnOf(shown, selected.event), ends = axis(shown), x = across(ends[column], width), right = across(ends[column + 1], width);
  if (right < LEFT || x > width) return;
  pen.strokeStyle = colour("--sel"); pen.lineWidth = 1.5;
  pen.strokeRect(Math.max(LEFT, x), TOP, Math.max(2, right - Math.max(LEFT, x)), height - TOP - 1);
  if (up && selected.offset !== null) {
    const y = up(selected.offset + 0.5 - shift(shown, column));
    pen.beginPath(); pen.moveTo(LEFT, y); pen.lineTo(width, y); pen.stroke();
  }
  pen.lineWidth = 1;
}
function drawChart(canvas, series) {
  const [pen, width, height] = surface(canvas), shown = level(), ends = axis(shown), [from, to] = visible(shown);
  let most = 1;
  for (const [name] of series) for (let i = from; i <= to; i++) most = Math.max(most, shown[name][i] || 0);
  const up = (value) => height - 2 - (value / most) * (height - 14);
  for (const [name, style, dash] of series) {
    pen.strokeStyle = colour(style); pen.setLineDash(dash || []); pen.lineWidth = 1.6; pen.beginPath();
    let drawn = false;
    for (let i = from; i <= to; i++) {
      const value = shown[name][i];
      if (value === null) { drawn = false; continue; }
      const x = Math.max(LEFT, across(ends[i], width));
      drawn ? pen.lineTo(x, up(value)) : pen.moveTo(x, up(value));
      pen.lineTo(Math.max(LEFT, across(ends[i + 1], width)), up(value));
      drawn = true;
    }
    pen.stroke();
  }
  pen.setLineDash([]); pen.lineWidth = 1;
  for (let i = from; i <= to; i++) if (shown.flags[i] & DIVERGES) { pen.fillStyle = colour("--bad"); pen.fillRect(across(ends[i], width) - 1, 0, 2, height); }
  cursor(pen, shown, width, height, null);
  pen.fillStyle = colour("--bg"); pen.fillRect(0, 0, LEFT, height);
  pen.fillStyle = colour("--soft"); pen.textAlign = "right";
  pen.fillText(most.toLocaleString("en"), LEFT - 5, 14); pen.fillText("0", LEFT - 5, height - 3); pen.textAlign = "left";
}
const CHARTS = [
  ["Lag in offsets", [["lag", "--one", null, "the leader's lag"], ["reported", "--two", [5, 3], "the reported lag, of the durable state"]]],
  ["Records in the window", [["held", "--acq", null, "held"], ["available", "--one", null, "available"], ["acknowledged", "--ack", null, "acknowledged"], ["archived", "--four", [5, 3], "archived"]]],
  ["Delivery counts of records in the window", [["median", "--one", null, "median"], ["high", "--two", [5, 3], "95th percentile"], ["most", "--bad", null, "highest"]]],
  ["Outstanding writes", [["pending", "--leader", null, "writes without an answer"]]],
];
function draw() {
  if (!part) return;
  drawStrip();
  document.querySelectorAll(".chart canvas").forEach((canvas, i) => drawChart(canvas, CHARTS[i][1]));
}
let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

// Panels.

function facts(panel, title, pairs) {
  panel.replaceChildren(el("h3", title));
  const list = el("dl");
  for (const [name, value] of pairs) if (value !== null && value !== undefined && value !== "") list.append(el("dt", name), el("dd", value));
  panel.append(list);
}
function showEvent() {
  const panel = $("event"), shown = level(), near = part.detail, k = selected.event - near.first;
  const isEach = k >= 0 && k < near.seq.length, from = isEach ? near : shown, i = isEach ? k : columnOf(shown, selected.event);
  const first = i ? from.last[i - 1] + 1 : from.first, ends = [["start offset", "start"], ["end offset", "end"], ["lag, the leader's", "lag"], ["lag, reported", "reported"]];
  const moved = ends.map(([name, key]) => [name, i && from[key][i - 1] !== from[key][i] ? `${known(from[key][i - 1])} → ${known(from[key][i])}` : known(from[key][i])]);
  if (!isEach) {
    facts(panel, `Events ${first} to ${from.last[i]}`, [["last seq", from.seq[i]], ["time", when(from.ms[i])], ...moved,
      ["each event", `sharespec explain TRACE --partition ${part.name} --around ${from.seq[i]}, or view --around`]]);
    return;
  }
  const [, operation, answer, writes] = part.texts[k], wrong = part.divergence && part.divergence.event === selected.event ? part.divergence : null;
  facts(panel, `Event: seq ${near.seq[k]}`, [["time", when(near.ms[k])], ["operation", operation], [wrong ? "answer" : "recorded", answer],
    ...(wrong ? [["before", wrong.before], ["recorded", wrong.recorded], ["expected", wrong.expected], ["state recorded", wrong.recorded_after], ["state expected", wrong.after]] : []),
    ["expected", wrong ? null : near.flags[k] & UNCHECKED ? "not checked" : "as recorded"], ...moved, ...writes.map((text) => ["write", text])]);
  const changes = near.flags[k] & UNKNOWN ? [] : near.pieces[k], list = el("ul", null, { class: "scroll" });
  for (let p = 0; p < Math.min(changes.length, 3 * SHOWN); p += 3)
    list.append(el("li", `${span(changes[p], changes[p + 1])}: ${k ? kindText(kindAt(near, k - 1, changes[p])) : "before it"} → ${kindText(changes[p + 2])}`));
  if (changes.length > 3 * SHOWN) list.append(el("li", `and ${changes.length / 3 - SHOWN} more changes`));
  panel.append(el("p", near.flags[k] & UNKNOWN ? "What it changed was not recorded." : changes.length ? "Changed:" : "No record changed.", { class: "note" }), list);
  const rule = DATA.transitions[part.texts[k][0]];
  if (rule) panel.append(el("p", `By ${rule}`, { class: "note" }));
  const row = part.rows[selected.event], more = el("details");
  more.append(el("summary", row ? "The row" : "The row is left out: the page would be too large"));
  if (row) more.append(el("pre", row));
  panel.append(more);
}
function life(offset) {
  const near = part.detail, lives = [];
  let before = -1;
  for (let i = 0; i < near.base.length; i += 3) if (near.base[i] <= offset && offset <= near.base[i + 1]) before = near.base[i + 2];
  if (before >= 0) lives.push([near.seq[0], near.ms[0], "before the first event that is shown", kindText(before), near.first]);
  near.pieces.forEach((pieces, k) => {
    const [, operation, , , written] = part.texts[k], event = near.first + k;
    for (let p = 0; p < pieces.length; p += 3) {
      if (offset < pieces[p] || pieces[p + 1] < offset) continue;
      const none = near.flags[k] & UNKNOWN ? "not recorded" : offset < near.start[k] ? "below the start offset" : "no record";
      const now = pieces[p + 2] < 0 ? none : kindText(pieces[p + 2]);
      lives.push([near.seq[k], near.ms[k], operation, now, event]);
    }
    for (let p = 0; p < written.length; p += 2)
      if (written[p] <= offset && offset <= written[p + 1]) { lives.push([near.seq[k], near.ms[k], "written to the share coordinator", "", event]); break; }
    if (k && near.log_start[k - 1] !== null && near.log_start[k - 1] <= offset && offset < near.log_start[k])
      lives.push([near.seq[k], near.ms[k], `log start offset ${near.log_start[k]} passes it`, "", event]);
  });
  return lives;
}
function showOffset() {
  const panel = $("offset"), offset = selected.offset;
  if (offset === null) { facts(panel, "A record", [["", "Click an offset, or type one above, to see its life."]]); return; }
  panel.replaceChildren(el("h3", `Life of offset ${offset}`));
  const table = el("table"), head = el("tr"), body = el("tbody"), lives = life(offset);
  for (const name of ["seq", "time", "event", "then"]) head.append(el("th", name, { scope: "col" }));
  for (const [seq, ms, what, then, event] of lives.slice(0, 200)) {
    const row = el("tr"), cell = el("td"), link = el("button", seq, { class: "link", type: "button" });
    link.addEventListener("click", () => select(event, offset, true));
    cell.append(link); row.append(cell, el("td", when(ms).replace("T", " ")), el("td", what, { class: "wide" }), el("td", then, { class: "wide" })); body.append(row);
  }
  const top = el("thead"); top.append(head); table.append(top, body);
  const box = el("div", null, { class: "scroll" }); box.append(table);
  panel.append(lives.length ? box : el("p", "No event that is shown concerns it."));
  if (part.overview) panel.append(el("p", `Only events that are shown one by one. All: sharespec explain TRACE --partition ${part.name} --offset ${offset}`, { class: "note" }));
}
function showRule() {
  const panel = $("rule"), wrong = part.divergence;
  if (!wrong) { facts(panel, "The rule", [["", part.verdict === "conforms" ? "Nothing diverges: no rule is broken." : "No broken rule is known."]]); return; }
  const { name, sentence, source, says, places } = wrong.rule;
  facts(panel, "The rule that is broken", [["rule", `${name} (${wrong.kind})`], ["known", wrong.known], ["sentence", sentence], ["source", source], ["it says", says],
    ["enforced in", places.join(", ")], ["event", `seq ${wrong.seq}`], ["recorded", wrong.recorded], ["expected", wrong.expected], ["offset", wrong.offset]]);
}
function showTable() {
  const shown = level(), column = columnOf(shown, selected.event), begin = Math.max(0, Math.min(column - SHOWN / 2, shown.seq.length - SHOWN));
  const body = $("rows"), each = shown === part.detail;
  body.replaceChildren();
  for (let i = begin; i < Math.min(begin + SHOWN, shown.seq.length); i++) {
    const row = el("tr"), texts = each ? part.texts[i] : null, first = i ? shown.last[i - 1] + 1 : shown.first;
    const cell = el("td"), link = el("button", shown.seq[i], { class: "link", type: "button" });
    link.addEventListener("click", () => select(shown.last[i], selected.offset, false));
    cell.append(link); row.append(cell, el("td", when(shown.ms[i]), { class: "n" }), el("td", texts ? texts[1] : `${shown.last[i] - first + 1} events`), el("td", texts ? texts[2] : ""));
    for (const key of ["start", "end", "lag", "reported", "available", "held", "acknowledged", "archived"]) row.append(el("td", known(shown[key][i]), { class: "n" }));
    if (i === column) row.setAttribute("aria-current", "true");
    if (shown.flags[i] & DIVERGES) row.classList.add("diverges");
    body.append(row);
  }
  $("caption").textContent = `${each ? "Events" : "Columns"} ${begin + 1} to ${Math.min(begin + SHOWN, shown.seq.length)} of ${shown.seq.length}`;
}
function select(event, offset, bring) {
  const last = (part.overview || part.detail), most = last.last[last.last.length - 1] || 0;
  selected = { event: Math.max(0, Math.min(event, most)), offset: offset === null ? null : Math.max(0, offset) };
  if (bring) reveal();
  const shown = level(), column = columnOf(shown, selected.event);
  $("seq").value = shown.seq[column];
  $("number").value = selected.offset === null ? "" : selected.offset;
  showEvent(); showOffset();
  if ($("table").open) showTable();
  const text = part.texts[selected.event - part.detail.first];
  const state = selected.offset === null ? "" : `; offset ${selected.offset} ${shown.flags[column] & UNKNOWN ? "not recorded" : kindText(kindAt(shown, column, selected.offset))}`;
  $("announced").textContent = `seq ${shown.seq[column]}, ${when(shown.ms[column])}${text ? `, ${text[1]}: ${text[2]}` : ""}, start ${shown.start[column]}, end ${shown.end[column]}${state}`;
  redraw();
}
function reveal() {
  const near = part.detail, inside = selected.event >= near.first && selected.event < near.first + near.seq.length;
  const from = inside ? near : level(), ends = axis(from), column = columnOf(from, selected.event), wide = view[1] - view[0];
  if (ends[column] >= view[0] && ends[column + 1] <= view[1] && level() === from) return;
  const full = ends[ends.length - 1] - ends[0], size = Math.min(wide, inside && part.overview ? Math.min(full, ends[Math.min(column + 100, ends.length - 1)] - ends[Math.max(0, column - 100)]) : full);
  zoomTo(ends[column] - size / 2, ends[column] + size / 2, inside && part.overview ? [ends[0], ends[ends.length - 1]] : null);
}
function zoomTo(low, high, within) {
  const [least, most] = within || whole(), wide = Math.min(Math.max(high - low, (most - least) / 1e7, $("axis").value === "event" ? 4 : 1), most - least || 1);
  const begin = Math.min(Math.max(low, least), most - wide);
  view = [begin, begin + wide];
  redraw();
}
function zoom(factor, middle = (view[0] + view[1]) / 2) {
  zoomTo(middle - (middle - view[0]) * factor, middle + (view[1] - middle) * factor);
}

function fault() {
  if (!part.divergence) return;
  const near = part.detail, ends = axis(near), k = columnOf(near, part.divergence.event);
  zoomTo(ends[Math.max(0, k - 40)], ends[Math.min(ends.length - 1, k + 20)], part.overview ? [ends[0], ends[ends.length - 1]] : null);
  select(part.divergence.event, part.divergence.offset === null ? selected.offset : part.divergence.offset, false);
}

// Opening the share-partition, and what the user does.

function open() {
  part = DATA.drawing;
  for (const one of [part.overview, part.detail]) if (one && !one.axes) prepared(one);
  $("notes").replaceChildren(...part.notes.map((text) => el("p", text, { class: "note" })));
  const all = part.overview || part.detail, widest = Math.max(1, ...all.end.map((end, i) => end - all.start[i]));
  const reach = Math.max(...all.end, 1) - Math.min(...all.start);
  $("offsets").value = reach > 8 * widest ? "relative" : "absolute";
  $("fault").disabled = !part.divergence;
  heights = null; cachedFills = null; view = whole();
  showRule();
  select(part.focus, null, false);
  fault();
}
function begin() {
  for (const [state, style] of STATES.map((name, i) => [name, COLOURS[i]])) {
    const item = el("span"), key = el("i", "", { class: "key" });
    key.style.background = `var(${style})`; item.append(key, state.toLowerCase().replace("_", " ")); $("legend").append(item);
  }
  for (const [name, style, dashed] of [["start offset (SPSO)", "--start"], ["end offset (SPEO)", "--end"], ["log start offset", "--log", 1], ["a leader takes over, or a reset", "--leader", 1], ["not checked", "--warn"], ["records not recorded", "--line"]]) {
    const item = el("span"), key = el("i", "", { class: dashed ? "key l d" : "key l" });
    key.style.borderColor = `var(${style})`; item.append(key, name); $("legend").append(item);
  }
  $("legend").append(el("span", "hatched: being written · ▼ the event that diverges"));
  for (const [title, series] of CHARTS) {
    const figure = el("figure", null, { class: "chart" }), legend = el("div", null, { class: "legend" });
    for (const [, style, dash, name] of series) {
      const item = el("span"), key = el("i", "", { class: dash ? "key l d" : "key l" });
      key.style.borderColor = `var(${style})`; item.append(key, name); legend.append(item);
    }
    figure.append(el("figcaption", title), el("canvas", null, { role: "img", "aria-label": `${title} over time; the table below has the numbers` }), legend);
    $("charts").append(figure);
  }
  $("left").textContent = DATA.left_out;
  listen();
  open();
}
function place(event) {
  const canvas = $("strip"), box = canvas.getBoundingClientRect(), { low, high, height } = canvas.up;
  const value = view[0] + ((event.clientX - box.left - LEFT) / (box.width - LEFT)) * (view[1] - view[0]);
  return [value, low + ((height - (event.clientY - box.top)) / (height - TOP)) * (high - low), box];
}
function listen() {
  const strip = $("strip");
  let drag = null;
  strip.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), [value, offset] = place(event);
    if (event.shiftKey) { const { low, high } = strip.up; heights = [offset - (offset - low) * factor, offset + (high - offset) * factor]; redraw(); }
    else zoom(factor, value);
  }, { passive: false });
  strip.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, view, up: strip.up, moved: false }; strip.setPointerCapture(event.pointerId); });
  strip.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const box = strip.getBoundingClientRect(), dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    drag.moved = true;
    const by = (dx / (box.width - LEFT)) * (drag.view[1] - drag.view[0]);
    if (heights) { const up = (dy / (drag.up.height - TOP)) * (drag.up.high - drag.up.low); heights = [drag.up.low + up, drag.up.high + up]; }
    zoomTo(drag.view[0] - by, drag.view[1] - by);
  });
  strip.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const [value, height] = place(event), shown = level(), column = columnAt(shown, value);
      select(shown.last[column], Math.floor(height + shift(shown, column)), false);
    }
    drag = null;
  });
  strip.addEventListener("keydown", (event) => {
    const shown = level(), column = columnOf(shown, selected.event), many = event.shiftKey ? 10 : 1, offset = selected.offset === null ? shown.start[column] : selected.offset;
    const to = (i) => shown.last[Math.max(0, Math.min(shown.last.length - 1, i))];
    const keys = {
      ArrowLeft: () => select(to(column - many), selected.offset, true), ArrowRight: () => select(to(column + many), selected.offset, true),
      ArrowUp: () => select(selected.event, offset + many, false), ArrowDown: () => select(selected.event, offset - many, false),
      Home: () => select(to(0), selected.offset, true), End: () => select(to(shown.last.length), selected.offset, true),
      "+": () => zoomAround(0.5), "=": () => zoomAround(0.5), "-": () => zoomAround(2), 0: all, d: fault,
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  const zoomAround = (factor) => { const shown = level(); zoom(factor, axis(shown)[columnOf(shown, selected.event)]); };
  const all = () => { heights = null; view = whole(); select(selected.event, selected.offset, false); };
  $("in").addEventListener("click", () => zoomAround(0.5)); $("out").addEventListener("click", () => zoomAround(2));
  $("all").addEventListener("click", all); $("fault").addEventListener("click", fault);
  $("axis").addEventListener("change", () => { view = whole(); redraw(); });
  $("offsets").addEventListener("change", () => { heights = null; redraw(); });
  $("colour").addEventListener("change", redraw);
  $("seq").addEventListener("change", () => {
    const wanted = Number($("seq").value);
    for (const one of [part.detail, part.overview]) {
      const column = one ? one.seq.findIndex((seq) => seq >= wanted) : -1;
      if (column >= 0 && (one !== part.detail || one.seq[0] <= wanted || !part.overview)) { select(one.last[column], selected.offset, true); return; }
    }
  });
  $("number").addEventListener("change", () => select(selected.event, $("number").value === "" ? null : Math.floor(Number($("number").value)), false));
  $("table").addEventListener("toggle", () => { if ($("table").open) showTable(); });
  $("earlier").addEventListener("click", () => { const shown = level(); select(shown.last[Math.max(0, columnOf(shown, selected.event) - SHOWN)], selected.offset, false); });
  $("later").addEventListener("click", () => { const shown = level(); select(shown.last[Math.min(shown.last.length - 1, columnOf(shown, selected.event) + SHOWN)], selected.offset, false); });
  new ResizeObserver(redraw).observe(strip);
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", () => { cachedFills = null; redraw(); });
}
begin();
document.documentElement.dataset.ready = "true";
