// In a report's file: sessions that are packed are put in place when they are asked for, and the list of all exchanges is
// unpacked. What is in them was escaped when it was packed.

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

async function list() {
  const { names, rows } = JSON.parse(await unpacked(document.getElementById("rows")));
  new Exchanges(document.getElementById("exchanges"), names, (row) => `#${row[0]}`).put(rows);
}
list();
