// The list of runs is read anew when the server says that something has changed, at most every two seconds.
const form = document.getElementById("compare");
const chosen = () => [...form.querySelectorAll("input[name=run]:checked")].map((i) => i.value);
function ready() {
  const n = chosen().length;
  document.getElementById("go").disabled = n < 2 || n > 20; // the server compares no more
  document.getElementById("go").textContent = n < 2 ? "Choose two or more to compare" :
    n > 20 ? "Choose at most 20 to compare" : "Compare " + n + " runs";
}
form.addEventListener("change", ready);
ready();

let waiting = false;
async function reread() {
  if (waiting) return;
  waiting = true;
  await new Promise((done) => setTimeout(done, 2000));
  waiting = false;
  const answer = await fetch("/");
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html"), kept = new Set(chosen());
  for (const box of fresh.querySelectorAll("input[name=run]")) if (kept.has(box.value)) box.setAttribute("checked", "");
  document.getElementById("runs").replaceWith(document.adoptNode(fresh.getElementById("runs")));
  ready();
}
let first = true;
new EventSource("/changes").addEventListener("change", () => { if (first) first = false; else reread(); });
