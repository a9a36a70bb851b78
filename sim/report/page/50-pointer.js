// What the pointer does in the picture: the cursor and its tip, zoom and pan, lists of rows.
const picture = byId("picture"), rowsSvg = byId("rows"), tip = byId("tip");

function slotAt(y) { return plot.slots.find((s) => s.row && y >= s.y && y < s.y + s.height); }
function place(event, svg) {
  const box = svg.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function tipLines(slot, t, target) {
  if (target?.dataset?.about) return [target.dataset.about];
  const list = members(slot.row), reach = (view.to - view.from) / plot.width * 4;
  const near = [];
  let count = 0;
  for (let at = firstAt(list, t - reach); at < list.length && events.at[list[at]] <= t + reach; at++) {
    count++;
    if (near.length < 5) near.push(list[at]);
  }
  const lines = near.map((i) => "#" + (i + 1) + " " + events.text[i]);
  if (count > near.length) lines.push("and " + (count - near.length) + " more");
  return lines.length ? lines : [slot.row.about];
}

function showTip(event) {
  const { x, y } = place(event, rowsSvg), slot = slotAt(y);
  cursorAt(x);
  if (!slot || x < plot.left) { tip.hidden = true; return; }
  tip.replaceChildren(node("b", {}, seconds(tAt(x), 3) + " · " + slot.row.label), ...tipLines(slot, tAt(x), event.target).map((l) => node("div", {}, l)));
  tip.hidden = false;
  const box = picture.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
  tip.style.left = Math.max(4, Math.min(px + 14, box.width - tip.offsetWidth - 6)) + "px";
  tip.style.top = (py + 18) + "px";
}

let cursor = null;
function cursorAt(x) {
  if (!cursor || !cursor.isConnected) { cursor = shape("line", { class: "cursor", y1: 0 }); rowsSvg.append(cursor); }
  const inside = x >= plot.left && x <= plot.left + plot.width;
  for (const [name, value] of [["x1", x], ["x2", x], ["y2", inside ? plot.height : 0]]) cursor.setAttribute(name, value);
}

// Dragging chooses a window; with Shift it moves the window.
let drag = null;
rowsSvg.addEventListener("pointerdown", (e) => {
  const { x } = place(e, rowsSvg);
  if (e.button !== 0 || x < plot.left) return;
  drag = { x, from: view.from, to: view.to, moves: e.shiftKey, moved: false, target: e.target };
  rowsSvg.setPointerCapture(e.pointerId);
});
rowsSvg.addEventListener("pointermove", (e) => {
  if (!drag) { showTip(e); return; }
  const { x } = place(e, rowsSvg);
  drag.moved = drag.moved || Math.abs(x - drag.x) > 4;
  if (!drag.moved) return;
  tip.hidden = true;
  if (drag.moves) {
    const by = (drag.x - x) / plot.width * (drag.to - drag.from);
    show(drag.from + by, drag.to + by);
    return;
  }
  drag.brush = drag.brush?.isConnected ? drag.brush : rowsSvg.appendChild(shape("rect", { class: "brush", y: 0, height: plot.height }));
  drag.brush.setAttribute("x", Math.max(Math.min(x, drag.x), plot.left));
  drag.brush.setAttribute("width", Math.abs(x - drag.x));
});
rowsSvg.addEventListener("pointerup", (e) => {
  if (!drag) return;
  const { x, y } = place(e, rowsSvg), was = drag;
  drag = null;
  was.brush?.remove();
  if (was.moves && was.moved) return;
  if (was.moved) { const [a, b] = [tAt(was.x), tAt(x)]; show(Math.min(a, b), Math.max(a, b)); return; }
  choose(+was.target.dataset?.event || nearest(slotAt(y), tAt(x)));
});
rowsSvg.addEventListener("pointercancel", () => { drag?.brush?.remove(); drag = null; });
rowsSvg.addEventListener("pointerleave", () => { tip.hidden = true; cursor?.remove(); });
rowsSvg.addEventListener("dblclick", showAll);

// nearest event of a slot's row, by number; 0 when none is near.
function nearest(slot, t) {
  if (!slot) return 0;
  const list = members(slot.row), at = firstAt(list, t), reach = (view.to - view.from) / plot.width * 8;
  const near = [at - 1, at].filter((n) => n >= 0 && n < list.length && Math.abs(events.at[list[n]] - t) <= reach);
  near.sort((a, b) => Math.abs(events.at[list[a]] - t) - Math.abs(events.at[list[b]] - t));
  return near.length ? list[near[0]] + 1 : 0;
}

rowsSvg.addEventListener("wheel", (e) => {
  if (e.ctrlKey || e.metaKey) {
    e.preventDefault();
    zoom(Math.exp(Math.max(-50, Math.min(50, e.deltaY)) / 120), tAt(Math.max(place(e, rowsSvg).x, plot.left)));
  } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
    e.preventDefault();
    pan(e.deltaX / plot.width);
  }
}, { passive: false });

rowsSvg.addEventListener("click", (e) => {
  const { list, fold } = e.target.dataset || {};
  if (fold) turnFold(fold);
  if (list) listRow(model.rows.find((r) => r.id === list));
});

// The overview: dragging chooses the window, a click moves it there.
const overview = byId("overview");
let chosen = null;
overview.addEventListener("pointerdown", (e) => { chosen = place(e, overview).x; overview.setPointerCapture(e.pointerId); });
overview.addEventListener("pointermove", (e) => {
  if (chosen === null) return;
  const x = place(e, overview).x;
  if (Math.abs(x - chosen) > 4) show(overviewT(Math.min(x, chosen)), overviewT(Math.max(x, chosen)));
});
overview.addEventListener("pointerup", (e) => {
  const x = place(e, overview).x, half = (view.to - view.from) / 2;
  if (chosen !== null && Math.abs(x - chosen) <= 4) show(overviewT(x) - half, overviewT(x) + half);
  chosen = null;
});
overview.addEventListener("dblclick", showAll);

function openCard(number) {
  const card = byId("violation-" + number) || byId("violations"); // not all of very many have their place
  const closed = card?.closest("details");
  if (closed) closed.open = true;
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
}
byId("axis").addEventListener("click", (e) => { const flag = e.target.closest("[data-violation]"); if (flag) openCard(flag.dataset.violation); });
byId("axis").addEventListener("keydown", (e) => { if (e.key === "Enter" && e.target.dataset.violation) openCard(e.target.dataset.violation); });
new ResizeObserver(repaint).observe(picture);
