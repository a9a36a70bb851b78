// What is shown: the window of time, the filter, what is chosen. Changes are drawn once per frame.
const view = {
  from: 0, to: Math.max(model.end, 1000), following: true,
  words: "", problems: false, inView: true, kinds: new Set(), row: null,
  event: 0, chosenRow: "", folded: new Set(),
};
const painters = [];
let asked = false;
function repaint() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; paint(); });
}
function paint() {
  const begin = performance.now();
  for (const p of painters) p();
  byId("picture").dataset.busy = "false";
  byId("picture").dataset.painted = (performance.now() - begin).toFixed(1);
}

const shortest = 20; // milliseconds that a window shows at least
function show(from, to) {
  const whole = Math.max(model.end, 1000);
  let width = Math.min(Math.max(to - from, shortest), whole);
  view.from = Math.min(Math.max(from, 0), whole - width);
  view.to = view.from + width;
  view.following = view.to >= whole;
  remember();
  repaint();
}
function zoom(factor, around = (view.from + view.to) / 2) {
  const width = (view.to - view.from) * factor;
  const share = (around - view.from) / (view.to - view.from);
  show(around - share * width, around + (1 - share) * width);
}
function pan(share) {
  const by = (view.to - view.from) * share;
  show(view.from + by, view.to + by);
}
const showAll = () => show(0, model.end);
function showFaults() {
  const begun = model.faults.filter((f) => f.begun);
  if (!begun.length) return;
  const first = Math.min(...begun.map((f) => f.from));
  const margin = Math.max((model.end - first) * 0.05, 500);
  show(first - margin, model.end);
}
// reveal a moment, at a width that shows what is around it.
function reveal(t) {
  if (t < view.from || t > view.to || view.to - view.from > 15000) show(t - 4000, t + 4000);
  else repaint();
}

// The address names what is shown, so that a link to it can be sent.
function remember() {
  const parts = [];
  if (view.from > 0 || view.to < model.end) parts.push("t=" + (view.from / 1000).toFixed(2) + "-" + (view.to / 1000).toFixed(2));
  if (view.words) parts.push("q=" + encodeURIComponent(view.words));
  if (view.event) parts.push("event-" + view.event);
  const hash = parts.length ? "#" + parts.join("&") : "";
  if (hash === location.hash) return;
  try { history.replaceState(null, "", hash || location.pathname + location.search); } catch { /* some browsers allow no history for files */ }
}
function recall() {
  for (const part of location.hash.slice(1).split("&")) {
    const [, from, to] = part.match(/^t=([\d.]+)-([\d.]+)$/) || [];
    if (to) { view.from = from * 1000; view.to = Math.max(to * 1000, view.from + shortest); view.following = false; }
    const [, words] = part.match(/^q=(.*)$/) || [];
    if (words !== undefined) { view.words = decodeURIComponent(words); byId("filter").value = view.words; }
    const [, number] = part.match(/^event-(\d+)$/) || [];
    if (number) view.event = Math.min(+number, events.count);
  }
}

// accepted are the events that the filter lets through, by index; the window of time is not part of it.
let accepted = null;
function passes() {
  if (accepted && accepted.length === events.count) return accepted;
  accepted = new Uint8Array(events.count);
  const words = view.words.toLowerCase().split(/\s+/).filter(Boolean);
  for (let i = 0; i < events.count; i++) {
    if (view.problems && !problem(i)) continue;
    if (view.kinds.size && !view.kinds.has(events.kind[i])) continue;
    if (view.row && !selects(view.row.show, i)) continue;
    if (words.length) {
      const text = (events.kind[i] + " " + events.actor[i] + " " + events.subject[i] + " " + events.text[i]).toLowerCase();
      if (!words.every((w) => w.length > 1 && w[0] === "-" ? !text.includes(w.slice(1)) : text.includes(w))) continue;
    }
    accepted[i] = 1;
  }
  return accepted;
}
function refilter() { accepted = null; remember(); repaint(); }
const filtered = () => view.words !== "" || view.problems || view.kinds.size > 0;

function announce(text) { byId("announce").textContent = text; }
