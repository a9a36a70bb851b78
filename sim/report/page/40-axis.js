// The axis above the rows, with a flag for each violation, and the overview above it.
const axisHeight = 34, overviewHeight = 46;

// ticksOf chooses round moments, about one for every 90 pixels.
function ticksOf() {
  const raw = (view.to - view.from) / Math.max(plot.width / 90, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw);
  const all = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) all.push(t);
  return { all, digits: Math.max(0, Math.min(3, 3 - Math.floor(Math.log10(step)))) };
}

function gridLines() {
  return shape("g", { "aria-hidden": "true" }, ...ticksOf().all.map((t) => shape("line", { class: "grid", x1: xOf(t), x2: xOf(t), y1: 0, y2: plot.height })));
}

function drawAxis(width) {
  const svg = byId("axis"), { all, digits } = ticksOf();
  svg.setAttribute("viewBox", "0 0 " + width + " " + axisHeight);
  svg.setAttribute("height", axisHeight);
  svg.replaceChildren(
    shape("text", { x: 14, y: axisHeight - 8 }, "seconds"),
    ...all.map((t) => shape("g", {},
      shape("line", { class: "grid", x1: xOf(t), x2: xOf(t), y1: axisHeight - 5, y2: axisHeight }),
      shape("text", { x: xOf(t), y: axisHeight - 8, "text-anchor": "middle" }, (t / 1000).toFixed(digits)))),
    ...flags());
}

// flags of violations that stand at the same place are one.
function flags() {
  const shapes = [];
  let last = -Infinity, group = null;
  for (const v of model.violations) {
    if (v.at < view.from || v.at > view.to) continue;
    const x = xOf(v.at);
    if (x - last < 16) {
      group.count++;
      group.text.textContent = group.number + "+";
      continue;
    }
    last = x;
    const text = shape("text", { x, y: 12.5, "text-anchor": "middle" }, String(v.number));
    group = { count: 1, number: v.number, text };
    shapes.push(shape("g", { class: "flag", role: "button", tabindex: 0, "data-violation": v.number, "aria-label": "Violation " + v.number + " at " + seconds(v.at) + ": " + v.what },
      shape("circle", { cx: x, cy: 9, r: 9 }), text, shape("title", {}, v.what)));
  }
  return shapes;
}

const whole = () => Math.max(model.end, 1000);
const overviewX = (t) => plot.left + (t / whole()) * plot.width;
const overviewT = (x) => Math.min(Math.max((x - plot.left) / plot.width, 0), 1) * whole();

let overviewBack = { key: "", shapes: [] };
function drawOverview(width) {
  const svg = byId("overview"), key = width + "/" + events.count + "/" + model.end;
  if (overviewBack.key !== key) overviewBack = { key, shapes: overviewShapes() };
  svg.setAttribute("viewBox", "0 0 " + width + " " + overviewHeight);
  svg.setAttribute("height", overviewHeight);
  const from = overviewX(view.from), to = overviewX(view.to), end = plot.left + plot.width;
  svg.replaceChildren(shape("text", { class: "group", x: 14, y: 28, "aria-hidden": "true" }, "whole run"), ...overviewBack.shapes,
    shape("rect", { class: "shade", x: plot.left, y: 0, width: Math.max(from - plot.left, 0), height: overviewHeight }),
    shape("rect", { class: "shade", x: to, y: 0, width: Math.max(end - to, 0), height: overviewHeight }),
    shape("rect", { class: "view", x: from, y: 1, width: Math.max(to - from, 3), height: overviewHeight - 2 }));
}

// overviewShapes: how much happened, outages and violations, over the whole run.
function overviewShapes() {
  const size = 3, n = Math.ceil(plot.width / size) + 1, all = new Uint32Array(n), bad = new Uint32Array(n);
  for (let i = 0; i < events.count; i++) {
    const b = Math.floor((overviewX(events.at[i]) - plot.left) / size);
    all[b]++;
    if (problem(i)) bad[b]++;
  }
  let most = 1, good = "", worse = "";
  for (const c of all) most = Math.max(most, c);
  const tall = overviewHeight - 14, base = overviewHeight - 4;
  const height = (c) => (c ? Math.max(1.5, Math.sqrt(c / most) * tall) : 0);
  for (let b = 0; b < n; b++) {
    if (!all[b]) continue;
    const x = plot.left + b * size, h = height(all[b]), h2 = bad[b] ? Math.max(2, h * bad[b] / all[b]) : 0;
    good += "M" + x + " " + base + "v" + -h.toFixed(1) + "h2v" + h.toFixed(1) + "z";
    if (h2) worse += "M" + x + " " + base + "v" + -h2.toFixed(1) + "h2v" + h2.toFixed(1) + "z";
  }
  const shapes = [shape("path", { class: "t0", d: good }), shape("path", { class: "t2", d: worse })];
  for (const f of model.faults) if (f.begun) shapes.unshift(shape("rect", { class: "band on", x: overviewX(f.from), y: 0, width: Math.max(overviewX(f.to) - overviewX(f.from), 2), height: overviewHeight }));
  const marked = new Set();
  for (const v of model.violations) {
    const x = Math.round(overviewX(v.at));
    if (marked.has(x)) continue;
    marked.add(x);
    shapes.push(shape("line", { class: "violation-line", x1: x, x2: x, y1: 0, y2: overviewHeight }));
  }
  return shapes;
}

painters.push(() => {
  const width = byId("picture").clientWidth || 1000;
  plot.left = gutter();
  plot.width = Math.max(width - plot.left - rim, 50);
  drawRows(width);
  drawAxis(width);
  drawOverview(width);
  byId("window").textContent = seconds(view.from, 2) + " to " + seconds(view.to, 2);
});
