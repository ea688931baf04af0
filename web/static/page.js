// What the page does besides being HTML: search as you type, the keyboard, copying, the next part of a document.
"use strict";

const PAUSE_MS = 90;

// Search as you type: the server's own page is asked for, and its results take the place of these.
const field = document.querySelector('.ask input[name="q"]');
let waiting = 0;
let running = null;

async function search() {
  running?.abort();
  running = new AbortController();
  const parameters = new URLSearchParams(new FormData(field.form));
  const address = field.value.trim() ? `/?${parameters}` : "/";
  try {
    const answer = await fetch(address, { headers: { "x-brain-typing": "1" }, signal: running.signal });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("results");
    if (!found) return;
    document.getElementById("results").replaceWith(found);
    document.title = page.title;
    history.replaceState(null, "", address);
    current = -1;
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

field?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, PAUSE_MS);
});

// The keyboard. What j and k move over: hits, or the prompts of a session; the address may name one of them.
const places = () => [...document.querySelectorAll(".hit, .turn.person")];
let current = location.hash ? places().findIndex((each) => `#${each.id}` === location.hash) : -1;
places()[current]?.classList.add("current");

function move(step) {
  const all = places();
  if (!all.length) return;
  all[current]?.classList.remove("current");
  current = Math.min(Math.max(current + step, 0), all.length - 1);
  const chosen = all[current];
  chosen.classList.add("current");
  chosen.scrollIntoView({ block: chosen.matches(".turn") ? "start" : "nearest" });
  chosen.querySelector("h2 a, h3 a")?.focus({ preventScroll: true });
}

const help = document.getElementById("keys");
const KEYS = {
  "/": () => (field ?? document.getElementById("find"))?.select(),
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  "[": () => document.querySelector('a[rel="prev"]')?.click(),
  "]": () => document.querySelector('a[rel="next"]')?.click(),
  y: () => document.querySelector("button.copy")?.click(),
  n: () => location.assign("/inbox#text"),
  w: () => document.querySelector(".hit.current .reject")?.click(),
  1: () => document.querySelector('.conflict .key1')?.click(),
  2: () => document.querySelector('.conflict .key2')?.click(),
  3: () => document.querySelector('.conflict .key3')?.click(),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing && !(event.target === field && event.key === "ArrowDown")) return;
  if (!Object.hasOwn(KEYS, event.key) || (event.key.startsWith("Arrow") && !document.querySelector(".hit"))) return;
  event.preventDefault();
  KEYS[event.key]();
});

const helper = document.querySelector("button.help");
helper.hidden = false;
helper.addEventListener("click", () => help.showModal());
help.querySelector("button").addEventListener("click", () => help.close());

// Commands to copy: the buttons are hidden where no script runs.
function showButtons(root) {
  for (const button of root.querySelectorAll("button.copy")) button.hidden = false;
}
showButtons(document);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// Long documents: the next part is added below, where a link to it would otherwise lead.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("#more a");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const answer = await fetch(link.href);
  if (!answer.ok) return void location.assign(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.getElementById("turns").append(...page.querySelectorAll("#turns > *"));
  const more = page.getElementById("more");
  if (more) document.getElementById("more").replaceWith(more);
  else document.getElementById("more").remove();
});

// Files that a session wrote to: what became of each since is asked of git, which takes longer than the page.
const files = document.querySelector(".files[data-states]");

async function showStates() {
  const answer = await fetch(files.dataset.states, { headers: { "x-brain-typing": "1" } });
  if (!answer.ok) return;
  const known = new Map((await answer.json()).files.items.map((each) => [each.path, each.state]));
  for (const item of files.children) {
    const state = known.get(item.dataset.path);
    if (!state) continue;
    const mark = document.createElement("span");
    mark.className = `state ${state}`;
    mark.textContent = state;
    item.append(" ", mark);
  }
}
if (files) showStates();
