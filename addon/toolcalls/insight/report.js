// The list of all exchanges in a report's file: searched, filtered, a page at a time. Sessions that are packed are put in
// place when they are asked for; what is in them was escaped when it was packed, and the list's texts are set as text.
"use strict";
const PAGE = 100;

async function unpacked(template) {
  const bytes = Uint8Array.from(atob(template.content.textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

// A session's place in the address may lie in a packed part: it is put in place, and gone to once more.
async function show() {
  const id = location.hash.slice(1);
  const session = /^s(\d+)(-t\d+)?$/.exec(id);
  if (!session || document.getElementById(id)) return;
  const parts = [...document.querySelectorAll("template.packed")];
  const part = parts.find((one) => one.dataset.first <= +session[1] && +session[1] <= one.dataset.last);
  if (!part) return;
  part.replaceWith(document.createRange().createContextualFragment(await unpacked(part)));
  history.replaceState(null, "", "#");
  location.hash = id;
}
addEventListener("hashchange", show);
show();

function element(name, text, parent, more = {}) {
  const made = Object.assign(document.createElement(name), more);
  if (text !== null) made.textContent = text;
  parent?.append(made);
  return made;
}

async function list() {
  const holder = document.getElementById("exchanges");
  const { names, rows } = JSON.parse(await unpacked(document.getElementById("rows")));
  const texts = rows.map((row) => row.slice(1).join(" ").toLowerCase());
  const form = element("p", null, holder, { className: "search" });
  const search = element("input", null, form, { type: "search", placeholder: "search", ariaLabel: "Search" });
  const chosen = ["model", "agent", "server", "worst"].map((name) => {
    const at = names.indexOf(name);
    const select = element("select", null, form, { ariaLabel: name });
    element("option", name === "worst" ? "every status" : `every ${name}`, select, { value: "" });
    [...new Set(rows.map((row) => row[at]))].sort().forEach((one) => element("option", one, select, { value: one }));
    return [at, select];
  });
  const count = element("p", null, holder, { className: "told", role: "status" });
  const table = element("table", null, element("div", null, holder, { className: "wide" }));
  table.className = "list";
  table.ariaLabel = "Exchanges";
  const head = element("tr", null, element("thead", null, table));
  names.slice(1).forEach((name) => element("th", name, head, { scope: "col" }));
  const body = element("tbody", null, table);
  const pages = element("p", null, holder, { className: "pages" });
  const before = element("button", "← earlier page", pages);
  const where = element("span", "", pages);
  const after = element("button", "next page →", pages);
  let page = 0;

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row, place) =>
      chosen.every(([at, select]) => !select.value || row[at] === select.value) &&
      words.every((word) => texts[place].includes(word)));
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    page = Math.min(page, last);
    count.textContent = `${found.length} of ${rows.length} exchanges`;
    where.textContent = ` page ${page + 1} of ${last + 1} `;
    before.disabled = page === 0;
    after.disabled = page === last;
    body.replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => {
      const line = element("tr", null, null);
      row.slice(1).forEach((text, place) => {
        const cell = element("td", null, line);
        cell.dataset.name = names[place + 1];
        if (place === 0) element("a", text, cell, { href: `#${row[0]}` });
        else if (names[place + 1] === "worst") {
          element("span", text, cell, { className: `badge ${text.replaceAll(" ", "-")}` });
        } else element("span", text, cell);
      });
      return line;
    }));
  }
  const again = () => { page = 0; draw(); };
  search.addEventListener("input", again);
  chosen.forEach(([, select]) => select.addEventListener("change", again));
  before.addEventListener("click", () => { page -= 1; draw(); });
  after.addEventListener("click", () => { page += 1; draw(); });
  draw();
}
list();
