// Keeps the page up to date: asks for what is shown here, and puts it in place when it has changed. The server escapes
// all that others wrote. What a person has opened, chosen or scrolled to stays.
"use strict";
const content = document.getElementById("content");
const state = document.getElementById("live");

// Each folded part by its place: new turns move the others, but not within a turn.
function folded() {
  const found = new Map();
  for (const one of content.querySelectorAll("details")) {
    const place = one.closest("[id]");
    found.set(`${place.id}/${[...place.querySelectorAll("details")].indexOf(one)}`, one);
  }
  return found;
}

function focused() {
  return [...content.querySelectorAll("a, summary")].indexOf(document.activeElement);
}

function put(html, revision) {
  const open = new Set([...folded()].filter(([, one]) => one.open).map(([key]) => key));
  const focus = focused();
  const scroll = window.scrollY;
  content.innerHTML = html;
  content.dataset.revision = revision;
  folded().forEach((one, key) => { one.open = open.has(key); });
  if (focus >= 0) content.querySelectorAll("a, summary")[focus]?.focus({ preventScroll: true });
  window.scrollTo(0, scroll);
}

function say(words, lost) {
  if (state.textContent !== words) state.textContent = words;
  state.classList.toggle("lost", lost);
}

async function look() {
  const chosen = String(window.getSelection());
  if (!document.hidden && !chosen) {
    try {
      const address = new URL(location.href);
      address.searchParams.set("since", content.dataset.revision);
      address.hash = "";
      const reply = await fetch(address, { headers: { Accept: "application/json" } });
      if (reply.status === 200) {
        const news = await reply.json();
        put(news.html, news.revision);
      } else if (reply.status !== 204) {
        throw new Error(String(reply.status));
      }
      say("live", false);
    } catch {
      say("mitmweb does not answer; this page shows what was last known", true);
    }
  }
  setTimeout(look, 1000);
}
setTimeout(look, 1000);
