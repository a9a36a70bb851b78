// A run that goes on: the server says when there is more, and gives what is new.
const follow = document.body.dataset.follow;

async function takeMore() {
  const answer = await fetch(follow + "?after=" + events.count);
  if (!answer.ok) return;
  const more = await answer.json();
  if (more.judged) { location.reload(); return; }
  if (!addEvents(more.model.events)) return;
  const wasAll = view.following;
  for (const part of ["end", "rows", "faults", "violations", "live"]) model[part] = more.model[part];
  membersOf = new Map();
  accepted = null;
  byId("verdict").textContent = more.verdict;
  document.title = more.verdict + document.title.slice(document.title.indexOf(":"));
  byId("headline").textContent = more.headline;
  byId("lines").append(...more.lines.map((l) => node("tr", { "data-tone": l.tone },
    node("td", { class: "right at" }, node("a", { href: "#event-" + l.event, "data-event": l.event }, l.at)), node("td", {}, l.text))));
  if (wasAll) show(view.from === 0 ? 0 : view.from + (model.end - view.to), model.end);
  repaint();
}

if (follow) {
  let busy = false, again = false;
  const more = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try { do { again = false; await takeMore(); } while (again); } finally { busy = false; }
  };
  const source = new EventSource(follow + "/changes");
  source.addEventListener("change", more);
}
