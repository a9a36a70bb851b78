// The model as the page gets it, and what belongs to which row.
const model = JSON.parse(document.getElementById("model").textContent);
const tones = ["plain", "good", "bad", "unclear", "lost", "busy"];
const byId = (id) => document.getElementById(id);

// Events, one column per field; more can be added while a run goes on.
const events = { at: [], kind: [], actor: [], subject: [], tone: [], text: [], count: 0 };

function addEvents(columns) {
  if (columns.from !== events.count) return false;
  for (let i = 0; i < (columns.at || []).length; i++) {
    events.at.push(columns.at[i]);
    events.kind.push(columns.kinds[columns.kind[i]]);
    events.actor.push(columns.actors[columns.actor[i]]);
    events.subject.push(columns.subjects[columns.subject[i]]);
    events.tone.push(columns.tone[i]);
    events.text.push(columns.text[i]);
    events.count++;
  }
  return true;
}

const problem = (i) => events.tone[i] === 2 || events.tone[i] === 4;

function selects(show, i) {
  return (!show.kinds || show.kinds.includes(events.kind[i])) &&
    (!show.actor || show.actor === events.actor[i]) &&
    (!show.subject || show.subject === events.subject[i]) &&
    (!show.subjects || show.subjects.includes(events.subject[i]));
}

// members of each row, as indices of events in order; made when first asked for.
let membersOf = new Map();
function members(row) {
  let list = membersOf.get(row.id);
  if (!list) {
    list = [];
    for (let i = 0; i < events.count; i++) if (selects(row.show, i)) list.push(i);
    membersOf.set(row.id, list);
  }
  return list;
}

// firstAt is the position in a list of events of the first that is not before t.
function firstAt(list, t) {
  let low = 0, high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (events.at[list[mid]] < t) low = mid + 1; else high = mid;
  }
  return low;
}

addEvents(model.events);

const seconds = (t, digits = 1) => (t / 1000).toFixed(digits) + " s";
const counted = (n, word) => n + " " + word + (n === 1 ? "" : "s");

// node makes an element of HTML; text is never markup.
function node(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}
// shape makes an element of SVG.
function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== false) element.setAttribute(name, value);
  element.append(...children.filter((c) => c !== undefined && c !== null));
  return element;
}
