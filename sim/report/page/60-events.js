// The list of events: as long as it may be, only the entries in sight exist.
const list = byId("events"), entries = byId("entries"), entryTall = 26;
let shown = []; // indices of the events in the list

function listed() {
  const pass = passes(), all = [];
  const from = view.inView ? view.from : -Infinity, to = view.inView ? view.to : Infinity;
  for (let i = 0; i < events.count; i++) if (pass[i] && events.at[i] >= from && events.at[i] <= to) all.push(i);
  return all;
}

function drawList() {
  shown = listed();
  byId("count").textContent = shown.length === events.count ? String(events.count) : shown.length + " of " + events.count;
  entries.style.height = shown.length * entryTall + "px";
  list.setAttribute("aria-rowcount", shown.length + 1);
  drawEntries();
  drawKinds();
  drawDetail();
  const chip = byId("row-filter");
  chip.hidden = !view.row;
  if (view.row) chip.replaceChildren("row: " + view.row.label, node("button", { type: "button", "aria-label": "List all rows" }, "×"));
}

function drawEntries() {
  const first = Math.max(Math.floor(list.scrollTop / entryTall) - 5, 0), last = Math.min(first + Math.ceil(list.clientHeight / entryTall) + 10, shown.length);
  const made = [];
  for (let n = first; n < last; n++) {
    const i = shown[n], selected = view.event === i + 1;
    const entry = node("div", { class: "entry", role: "row", id: "entry-" + (i + 1), "data-event": i + 1, "data-tone": tones[events.tone[i]], "aria-rowindex": n + 2, "aria-selected": String(selected) },
      ...[i + 1, (events.at[i] / 1000).toFixed(3), events.kind[i], events.actor[i], events.subject[i], events.text[i]].map((text) => node("span", { role: "gridcell", title: text }, String(text))));
    entry.style.top = n * entryTall + "px";
    made.push(entry);
  }
  entries.replaceChildren(...made);
  const at = byId("entry-" + view.event);
  if (at) list.setAttribute("aria-activedescendant", at.id); else list.removeAttribute("aria-activedescendant");
}

let kindsKey = "";
function drawKinds() {
  const counts = new Map();
  for (const kind of events.kind) counts.set(kind, (counts.get(kind) || 0) + 1);
  const key = events.count + [...view.kinds].join();
  if (key === kindsKey) return;
  kindsKey = key;
  byId("kinds").replaceChildren(...[...counts].sort((a, b) => b[1] - a[1]).map(([kind, count]) =>
    node("button", { type: "button", "data-kind": kind, "aria-pressed": String(view.kinds.has(kind)) }, kind + " ", node("small", {}, String(count)))));
}

function drawDetail() {
  const box = byId("detail"), i = view.event - 1;
  box.hidden = i < 0 || i >= events.count;
  if (box.hidden || box.dataset.event === String(view.event)) return;
  box.dataset.event = view.event;
  const wall = new Date(Date.parse(model.started) + events.at[i]).toISOString().replace("T", " ").replace("Z", " UTC");
  const facts = [["event", view.event + " of " + events.count], ["at", seconds(events.at[i], 3) + " (" + wall + ")"], ["kind", events.kind[i]], ["who", events.actor[i] || "the run"], ["about", events.subject[i] || "–"], ["what", events.text[i]], ["whole", ""]];
  box.replaceChildren(node("dl", {}, ...facts.map(([name, value]) => node("div", {}, node("dt", {}, name), node("dd", {}, name === "whole" ? node("code", {}, "sed -n " + (view.event + 1) + "p timeline.jsonl") : value)))));
}

// choose an event, show where it is, and bring it into sight in the list.
function choose(number, scroll = false) {
  view.event = number > 0 && number <= events.count ? number : 0;
  if (view.event) {
    const i = view.event - 1;
    if (!passes()[i]) { clearFilter(); }
    reveal(events.at[i]);
    announce("Event " + view.event + " at " + seconds(events.at[i], 3) + ": " + events.text[i]);
  }
  remember();
  shown = listed();
  bringIntoSight();
  repaint();
  if (scroll) byId("picture-section").scrollIntoView({ block: "start" });
}

function bringIntoSight() {
  const n = shown.indexOf(view.event - 1);
  if (n < 0) return;
  entries.style.height = shown.length * entryTall + "px"; // there must be room to scroll to
  const top = n * entryTall, head = entryTall;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + entryTall + head > list.scrollTop + list.clientHeight) list.scrollTop = top + entryTall + head - list.clientHeight;
}

function step(by) {
  if (!shown.length) return;
  const n = shown.indexOf(view.event - 1);
  choose(shown[n < 0 ? 0 : Math.min(Math.max(n + by, 0), shown.length - 1)] + 1);
}

function listRow(row) {
  view.row = view.row === row ? null : row;
  if (row) announce("Events of the row " + row.label);
  refilter();
}

function clearFilter() {
  Object.assign(view, { words: "", problems: false, row: null });
  view.kinds.clear();
  byId("filter").value = "";
  byId("problems").checked = false;
  refilter();
}

list.addEventListener("scroll", drawEntries);
entries.addEventListener("click", (e) => { const entry = e.target.closest("[data-event]"); if (entry) choose(+entry.dataset.event); });
byId("filter").addEventListener("input", (e) => { view.words = e.target.value.trim(); refilter(); });
byId("problems").addEventListener("change", (e) => { view.problems = e.target.checked; refilter(); });
byId("in-view").addEventListener("change", (e) => { view.inView = e.target.checked; repaint(); });
byId("clear").addEventListener("click", clearFilter);
byId("row-filter").addEventListener("click", (e) => { if (e.target.closest("button")) listRow(null); });
byId("kinds").addEventListener("click", (e) => {
  const kind = e.target.closest("[data-kind]")?.dataset.kind;
  if (!kind) return;
  if (!view.kinds.delete(kind)) view.kinds.add(kind);
  refilter();
});
list.addEventListener("keydown", (e) => {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 14, PageUp: -14, Home: -Infinity, End: Infinity }[e.key];
  if (by === undefined) return;
  e.preventDefault();
  e.stopPropagation();
  if (Number.isFinite(by)) step(by); else if (shown.length) choose(shown[by < 0 ? 0 : shown.length - 1] + 1);
});
painters.push(drawList);
