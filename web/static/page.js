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

// The keyboard: "/" asks, j and k move, Enter opens.
let current = -1;

function move(step) {
  const hits = [...document.querySelectorAll(".hit")];
  if (!hits.length) return;
  hits[current]?.classList.remove("current");
  current = Math.min(Math.max(current + step, 0), hits.length - 1);
  hits[current].classList.add("current");
  hits[current].scrollIntoView({ block: "nearest" });
  hits[current].querySelector("h2 a")?.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing && !(event.target === field && event.key === "ArrowDown")) return;
  if (event.key === "/") {
    event.preventDefault();
    (field ?? document.getElementById("find"))?.select();
  } else if (event.key === "j" || event.key === "ArrowDown") {
    if (!document.querySelector(".hit")) return;
    event.preventDefault();
    move(1);
  } else if (event.key === "k" || event.key === "ArrowUp") {
    if (!document.querySelector(".hit")) return;
    event.preventDefault();
    move(-1);
  }
});

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
