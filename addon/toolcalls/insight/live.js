// Keeps the page up to date: asks which of its parts have changed, and puts these in place. The server escapes all that
// others wrote. What a person has opened, chosen or scrolled to stays; parts that are as they were are not touched.
const content = document.getElementById("content");
const state = document.getElementById("live");

function made(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.firstElementChild;
}

// The new part has open what the old one had, by the order in it, and the focus that the old one had.
function carry(old, fresh) {
  const before = [...old.querySelectorAll("details")];
  fresh.querySelectorAll("details").forEach((one, place) => { one.open = before[place]?.open ?? false; });
  const focus = [...old.querySelectorAll("a, summary")].indexOf(document.activeElement);
  return () => {
    if (focus >= 0) fresh.querySelectorAll("a, summary")[focus]?.focus({ preventScroll: true });
  };
}

function put(blocks, revision) {
  const scroll = window.scrollY;
  const here = new Map([...content.querySelectorAll("[data-key]")].map((one) => [one.dataset.key, one]));
  const list = content.querySelector("ol.turns");
  const last = new Map();
  for (const [key, html] of blocks) {
    let part = here.get(key);
    here.delete(key);
    if (html !== null) {
      const fresh = made(html);
      const focus = part ? carry(part, fresh) : null;
      part?.replaceWith(fresh);
      focus?.();
      part = fresh;
    }
    if (!part) continue;
    const home = part.matches("li") ? list : content;
    const before = last.get(home);
    const next = before ? before.nextElementSibling : home.firstElementChild;
    if (part !== next) home.insertBefore(part, next);
    last.set(home, part);
  }
  here.forEach((one) => one.remove());
  content.dataset.revision = revision;
  if (window.scrollY !== scroll) window.scrollTo(0, scroll);
}

// The list of exchanges asks for its own news: the rows that changed.
let exchanges = null;
let known = 0;
async function lookAtExchanges() {
  const holder = document.getElementById("exchanges");
  if (!holder) { exchanges = null; known = 0; return; }
  const reply = await fetch(`/toolcalls/exchanges?since=${exchanges ? known : 0}`);
  if (!reply.ok) throw new Error(String(reply.status));
  const news = await reply.json();
  if (exchanges?.holder !== holder) exchanges = new Exchanges(holder, news.names, (row) => row[0]);
  if (news.all) exchanges.rows.clear();
  known = news.revision;
  exchanges.put(news.rows, news.gone);
}
lookAtExchanges();

function say(words, lost) {
  if (state.textContent !== words) state.textContent = words;
  state.classList.toggle("lost", lost);
}

async function look() {
  let more = false;
  const chosen = String(window.getSelection());
  if (!document.hidden && !chosen) {
    try {
      const address = new URL(location.href);
      address.searchParams.set("since", content.dataset.revision);
      address.hash = "";
      const reply = await fetch(address, { headers: { Accept: "application/json" } });
      if (reply.status === 200) {
        const news = await reply.json();
        more = news.more;
        put(news.blocks, news.revision);
        await lookAtExchanges();
      } else if (reply.status !== 204) {
        throw new Error(String(reply.status));
      }
      say("live", false);
    } catch {
      say("mitmweb does not answer; this page shows the last known state", true);
    }
  }
  setTimeout(look, more ? 0 : 1000);
}
setTimeout(look, 0);
