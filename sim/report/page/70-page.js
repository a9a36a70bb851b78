// Keys, buttons, colours, print.
const zooms = { in: () => zoom(0.6), out: () => zoom(1 / 0.6), left: () => pan(-0.3), right: () => pan(0.3), all: showAll, faults: showFaults };
document.addEventListener("click", (e) => {
  const button = e.target.closest("[data-zoom]");
  if (button) zooms[button.dataset.zoom]();
  const link = e.target.closest("a[data-event]");
  if (link) { e.preventDefault(); choose(+link.dataset.event, true); }
  const moment = e.target.closest("[data-show]");
  if (moment) { const t = +moment.dataset.show; show(t - 5000, t + 5000); byId("picture-section").scrollIntoView({ block: "start" }); }
});

// next violation or problem from the chosen event, or from the begin of the window.
function nextProblem(direction) {
  const proofs = new Set(model.violations.flatMap((v) => v.events || []));
  const notable = (i) => proofs.size ? proofs.has(i + 1) : problem(i);
  let i = view.event ? view.event - 1 + direction : direction > 0 ? 0 : events.count - 1;
  for (; i >= 0 && i < events.count; i += direction) if (notable(i)) { choose(i + 1); return; }
  announce(direction > 0 ? "No later problem" : "No earlier problem");
}

function chooseRow(by) {
  const slots = plot.slots.filter((s) => s.row), now = slots.findIndex((s) => s.row.id === view.chosenRow);
  const slot = slots[now < 0 ? 0 : Math.min(Math.max(now + by, 0), slots.length - 1)];
  if (!slot) return;
  view.chosenRow = slot.row.id;
  announce(spoken(slot));
  repaint();
}

// turnFold folds the rows of a shoot into its first, or unfolds them. If the chosen row goes, the first is chosen.
function turnFold(shoot) {
  if (!view.folded.delete(shoot)) view.folded.add(shoot);
  layout();
  const first = plot.slots.find((s) => s.first && s.row.of === shoot), chosen = plot.slots.some((s) => s.row?.id === view.chosenRow);
  if (view.chosenRow && !chosen) view.chosenRow = first.row.id;
  announce("Rows of " + shoot + (view.folded.has(shoot) ? " folded away" : " shown: " + counted(first.others, "more row")));
  repaint();
}

const keys = {
  "+": zooms.in, "=": zooms.in, "-": zooms.out, "−": zooms.out, "0": showAll, ArrowLeft: zooms.left, ArrowRight: zooms.right,
  f: showFaults, n: () => nextProblem(1), p: () => nextProblem(-1), d: () => turnTheme(),
  "/": () => byId("filter").focus(), "?": () => byId("keys").showModal(),
  Escape: () => { view.event = 0; view.chosenRow = ""; clearFilter(); },
};
document.addEventListener("keydown", (e) => {
  const typing = e.target.matches("input, textarea, select") && e.target.type !== "checkbox";
  if (e.key === "Escape" && typing) { e.target.blur(); }
  if (e.ctrlKey || e.metaKey || e.altKey || byId("keys").open || (typing && e.key !== "Escape")) return;
  if (document.activeElement === rowsSvg) {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); chooseRow(e.key === "ArrowDown" ? 1 : -1); return; }
    const row = model.rows.find((r) => r.id === view.chosenRow);
    if (e.key === "Enter" && row) { listRow(row); return; }
    if (e.key === " ") { e.preventDefault(); if (row?.of && plot.slots.some((s) => s.first && s.row.of === row.of && s.others)) turnFold(row.of); return; } // the page does not scroll
  }
  if (e.target.closest("pre, .events") && e.key.startsWith("Arrow")) return;
  const act = keys[e.key];
  if (act) { e.preventDefault(); act(); }
});

// Colours: as the system, light, dark.
const themes = ["", "light", "dark"], themeNames = { "": "as the system", light: "light", dark: "dark" };
function kept(value) {
  try { if (value === undefined) return localStorage.getItem("transplant-theme") || ""; localStorage.setItem("transplant-theme", value); } catch { /* a file may have no storage */ }
  return value || "";
}
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  const button = byId("theme");
  button.setAttribute("aria-label", "Colours: " + themeNames[theme]);
  button.title = "Colours: " + themeNames[theme] + " (d)";
  button.textContent = { "": "◐", light: "☀", dark: "☾" }[theme];
}
function turnTheme() {
  const theme = themes[(themes.indexOf(document.documentElement.dataset.theme || "") + 1) % themes.length];
  kept(theme);
  setTheme(theme);
}
byId("theme").addEventListener("click", turnTheme);
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("print").addEventListener("click", () => print());
byId("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText(byId("command").textContent); announce("Copied"); byId("copy").textContent = "Copied"; }
  catch { getSelection().selectAllChildren(byId("command")); }
});

// On paper there is the whole run, at the width of a page, and nothing is folded away.
let before = null, closed = [];
addEventListener("beforeprint", () => {
  before ||= { from: view.from, to: view.to, folded: view.folded };
  Object.assign(view, { from: 0, to: Math.max(model.end, 1000), folded: new Set() });
  closed.push(...document.querySelectorAll("details:not([open])"));
  for (const d of closed) d.open = true;
  drawRows(1000);
  drawAxis(1000);
});
addEventListener("afterprint", () => {
  for (const d of closed.splice(0)) d.open = false;
  if (before) { Object.assign(view, before); before = null; repaint(); }
});

const manyShoots = 6;
setTheme(kept());
recall();
const shoots = [...new Set(model.rows.map((r) => r.of).filter(Boolean))];
if (shoots.length > manyShoots) for (const s of shoots) view.folded.add(s);
addEventListener("hashchange", () => { recall(); if (view.event) choose(view.event); else repaint(); });
paint();
if (view.event) choose(view.event);
