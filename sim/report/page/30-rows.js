// The picture: rows below a common axis. No more is drawn than there are pixels for, however many events there are.
// The names of rows have less room where the page is narrow.
const gutter = () => (innerWidth < 700 ? 104 : 178), rim = 14, rowHeight = 18, pad = 3;
const plot = { width: 0, left: gutter(), height: 0, slots: [] };
const xOf = (t) => plot.left + ((t - view.from) / (view.to - view.from)) * plot.width;
const tAt = (x) => view.from + ((x - plot.left) / plot.width) * (view.to - view.from);

// layout gives every row that is shown, and every heading, a slot.
function layout() {
  plot.slots = [];
  let y = 0, group = "", shoot = null;
  for (const row of model.rows) {
    if (row.group !== group) {
      group = row.group;
      plot.slots.push({ heading: group, y, height: 22 });
      y += 22;
    }
    const first = row.of && row.of !== shoot;
    shoot = row.of || null;
    if (row.of && !first && view.folded.has(row.of)) continue;
    const height = Math.max(row.form === "writes" ? 2 : 1, Math.min(row.lines, 12)) * rowHeight + 2 * pad;
    const others = first ? model.rows.filter((l) => l.of === row.of).length - 1 : 0;
    plot.slots.push({ row, y, height, first, others });
    y += height;
  }
  plot.height = y;
}

function drawRows(width) {
  plot.left = gutter();
  plot.width = Math.max(width - plot.left - rim, 50);
  layout();
  const svg = byId("rows");
  svg.setAttribute("viewBox", "0 0 " + width + " " + plot.height);
  svg.setAttribute("height", plot.height);
  const rows = plot.slots.map((slot, i) => slot.heading ? heading(slot, width) : drawRow(slot, i, width));
  svg.replaceChildren(hatch(), gridLines(), ...rows, ...bands(), ...violationLines(), ...chosenLines());
}

function hatch() {
  return shape("defs", {},
    shape("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, shape("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 7 })),
    shape("clipPath", { id: "plot" }, shape("rect", { x: plot.left, y: 0, width: plot.width, height: plot.height })));
}

function heading(slot, width) {
  return shape("g", { "aria-hidden": "true" },
    shape("text", { class: "group", x: 10, y: slot.y + 16 }, slot.heading),
    shape("line", { class: "rule", x1: 0, x2: width, y1: slot.y + 0.5, y2: slot.y + 0.5 }));
}

function drawRow(slot, i, width) {
  const { row } = slot;
  const content = row.form === "bars" ? drawBars(slot) : row.form === "writes" ? drawWrites(slot) : drawTicks(slot);
  const g = shape("g", { class: "row" + (view.chosenRow === row.id ? " chosen" : ""), role: "listitem", "data-row": row.id, "aria-label": spoken(slot) },
    i % 2 && view.chosenRow !== row.id ? null : shape("rect", { class: "stripe", x: 0, y: slot.y, width, height: slot.height }),
    shape("g", { "clip-path": "url(#plot)" }, ...content));
  if (slot.others) {
    const folded = view.folded.has(row.of);
    g.append(shape("text", { class: "fold", "data-fold": row.of, x: 8, y: slot.y + pad + 13, role: "button", tabindex: -1, "aria-label": "Rows of " + row.of, "aria-expanded": String(!folded) }, folded ? "▸" : "▾"));
  }
  const label = row.of && !slot.first ? row.label.slice(row.of.length + 1) : row.label;
  const x = row.of ? (slot.first ? 22 : 34) : 14;
  g.append(shape("text", { class: "label", "data-list": row.id, x, y: slot.y + pad + 13 }, shape("title", {}, row.about + ". Click to list its events."), fit(label, plot.left - x - 4)));
  return g;
}

// spoken is a row in words, for those who do not see it, with how many rows are folded into it.
function spoken({ row, others }) {
  const away = others && view.folded.has(row.of) ? "; " + counted(others, "row") + " of " + row.of + " folded away" : "";
  return row.label + ": " + summary(row) + away;
}

function summary(row) {
  if (row.form === "writes") return writesSummary(row);
  if (row.form !== "bars") return row.about + "; " + counted(members(row).length, "event");
  if (!row.bars) return row.about;
  const bars = row.bars.filter((b) => b.to >= view.from && b.from <= view.to);
  if (!bars.length) return row.about + "; nothing";
  return bars.slice(0, 12).map((b) => (b.label || b.about) + " from " + seconds(b.from) + " to " + seconds(b.to)).join("; ") + (bars.length > 12 ? "; and " + (bars.length - 12) + " more" : "");
}

// What the colours of a writes row say, in the order in which they are spoken.
const writeWords = [[1, "acknowledged"], [2, "refused"], [3, "without an answer"], [4, "acknowledged but lost"]];

// writesSummary says how many writes there are of each kind, and when the first and the last of them was.
function writesSummary(row) {
  const seen = tones.map(() => ({ count: 0 })), list = members(row);
  for (let at = firstAt(list, view.from); at < list.length && events.at[list[at]] <= view.to; at++) {
    const kind = seen[events.tone[list[at]]], t = events.at[list[at]];
    kind.from ??= t;
    kind.to = t;
    kind.count++;
  }
  const parts = writeWords.filter(([tone]) => seen[tone].count).map(([tone, word]) => {
    const { count, from, to } = seen[tone];
    return counted(count, "write") + " " + word + (count === 1 ? " at " + seconds(from) : " from " + seconds(from) + " to " + seconds(to));
  });
  return parts.join("; ") || "no writes";
}

// fit cuts a text to a width: at this size a character is about 6.2 wide.
function fit(text, width) {
  const most = Math.floor(width / 6.2);
  return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
}

function drawBars(slot) {
  const shapes = [], last = [];
  for (const bar of slot.row.bars || []) {
    if (bar.to < view.from || bar.from > view.to) continue;
    const x = xOf(bar.from), right = xOf(bar.to), at = Math.min(bar.line || 0, 11);
    const before = last[at];
    // Bars that are narrower than a pixel are drawn as one with what is before them.
    if (before && before.tone === bar.tone && right - x < 1 && x - before.right < 1) {
      before.right = Math.max(before.right, right);
      before.box.setAttribute("width", Math.max(before.right - before.x, 2));
      continue;
    }
    const y = slot.y + pad + at * rowHeight, left = Math.max(x, plot.left - 5), wide = Math.max(Math.min(right, plot.left + plot.width + 5) - left, 2);
    const box = shape("rect", { class: "box t" + bar.tone, x: left, y: y + 1, width: wide, height: rowHeight - 3, "data-event": bar.event || undefined, "data-about": bar.about });
    shapes.push(box);
    if (before) shapes.push(barText(before, left));
    last[at] = { tone: bar.tone, box, x: left, right: left + wide, y, label: bar.label || "" };
  }
  for (const bar of last) if (bar) shapes.push(barText(bar, plot.left + plot.width));
  return shapes;
}

// barText is the label of a bar: in it, or beside it when it fits only there before the next bar, or as much as it holds.
function barText(bar, next) {
  const wide = bar.right - bar.x, text = fit(bar.label, wide - 8);
  if (text !== bar.label && fit(bar.label, next - bar.right - 12) === bar.label) return shape("text", { class: "outside", x: bar.right + 5, y: bar.y + 13 }, bar.label);
  return text && (wide > 30 || text === bar.label) ? shape("text", { class: "in", x: Math.max(bar.x, plot.left) + 5, y: bar.y + 13 }, text) : null;
}

// buckets counts the events of a row in columns of so many pixels, by tone.
function buckets(row, size) {
  const list = members(row), pass = passes(), n = Math.ceil(plot.width / size) + 1;
  const counts = tones.map(() => new Uint32Array(n));
  const perBucket = n / ((view.to - view.from) * (n * size / plot.width));
  for (let at = firstAt(list, view.from); at < list.length && events.at[list[at]] <= view.to; at++) {
    const i = list[at];
    if (pass[i] || !filtered()) counts[events.tone[i]][Math.floor((events.at[i] - view.from) * perBucket)]++;
  }
  return counts;
}

// gravest tone of a bucket is the one that is drawn.
const gravity = [4, 2, 3, 5, 1, 0];
function drawTicks(slot) {
  const size = 3, counts = buckets(slot.row, size), paths = tones.map(() => "");
  const base = slot.y + slot.height - pad, tall = slot.height - 2 * pad;
  for (let b = 0; b < counts[0].length; b++) {
    let all = 0;
    for (const c of counts) all += c[b];
    if (!all) continue;
    const height = Math.min(tall, 5 + 3 * Math.log2(1 + all)), tone = gravity.find((t) => counts[t][b]);
    paths[tone] += "M" + (plot.left + b * size) + " " + base + "v" + -height.toFixed(1) + "h2v" + height.toFixed(1) + "z";
  }
  return paths.map((d, tone) => d ? shape("path", { class: "t" + tone, d }) : null);
}

const stacked = [1, 0, 5, 3, 2, 4]; // from below: what was acknowledged, then what was not
function drawWrites(slot) {
  const size = 4, counts = buckets(slot.row, size), paths = tones.map(() => "");
  // A short burst, such as the writes that populate a shoot, must not flatten all others: it is cut off at the top.
  const sums = counts[0].map((_, b) => counts.reduce((sum, c) => sum + c[b], 0)), sorted = sums.filter((n) => n > 0).sort((a, b) => a - b);
  const most = Math.max(1, (sorted[Math.floor((sorted.length - 1) * 0.95)] || 0) * 1.2);
  const base = slot.y + slot.height - pad, tall = slot.height - 2 * pad;
  for (let b = 0; b < counts[0].length; b++) {
    let y = base;
    for (const tone of stacked) {
      const height = Math.min(counts[tone][b] / most * tall, y - (base - tall));
      if (!(height > 0)) continue;
      const shown = tone === 1 ? height : Math.max(height, 3);
      paths[tone] += "M" + (plot.left + b * size) + " " + y.toFixed(1) + "v" + -shown.toFixed(1) + "h3v" + shown.toFixed(1) + "z";
      y -= shown;
    }
  }
  const rate = most / ((view.to - view.from) / 1000 * size / plot.width);
  return [...paths.map((d, tone) => d ? shape("path", { class: "t" + tone, d }) : null),
    shape("text", { class: "beside", x: plot.left + plot.width - 4, y: slot.y + 12, "text-anchor": "end" }, "full height: " + (rate < 10 ? rate.toFixed(1) : Math.round(rate)) + " per s")];
}

function bands() {
  const shapes = [];
  for (const f of model.faults) {
    if (!f.begun || f.to < view.from || f.from > view.to) continue;
    const x = Math.max(xOf(f.from), plot.left), right = Math.min(xOf(f.to), plot.left + plot.width), width = Math.max(right - x, 2);
    shapes.push(shape("rect", { class: "band", x, y: 0, width, height: plot.height }));
    for (const slot of plot.slots) if (slot.row && (f.on || []).includes(slot.row.id)) shapes.push(shape("rect", { class: "band on", x, y: slot.y, width, height: slot.height }));
    for (const t of [f.from, f.to]) if (t >= view.from && t <= view.to) shapes.push(shape("line", { class: "band-edge", x1: xOf(t), x2: xOf(t), y1: 0, y2: plot.height }));
  }
  return shapes;
}

function violationLines() {
  const seen = new Set();
  const apart = (v) => { const x = Math.round(xOf(v.at)), fresh = !seen.has(x); seen.add(x); return fresh; };
  return model.violations.filter((v) => v.at >= view.from && v.at <= view.to && apart(v)).map((v) => shape("line", { class: "violation-line", x1: xOf(v.at), x2: xOf(v.at), y1: 0, y2: plot.height }));
}

function chosenLines() {
  const t = view.event ? events.at[view.event - 1] : NaN;
  return t >= view.from && t <= view.to ? [shape("line", { class: "chosen-line", x1: xOf(t), x2: xOf(t), y1: 0, y2: plot.height })] : [];
}
