// What the report's file and mitmweb's page share: copying, keys, and the list of all exchanges, which is searched,
// filtered, sorted and shown a page at a time. Texts of others are set as text and never as markup.
"use strict";
const PAGE = 100;
const MEANS = JSON.parse(document.getElementById("words")?.content.textContent ?? "{}");
const KINDS = Object.keys(MEANS);
document.documentElement.classList.add("script");

function element(name, text, parent, more = {}) {
  const made = Object.assign(document.createElement(name), more);
  if (text !== null) made.textContent = text;
  parent?.append(made);
  return made;
}

// --- copying ---

async function toClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = element("textarea", null, document.body, { value: text });
  area.select();
  document.execCommand("copy");
  area.remove();
  return undefined;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  const words = button.dataset.words ??= button.textContent;
  try {
    let text = button.dataset.copy;
    if (button.dataset.from) {
      const reply = await fetch(button.dataset.from);
      text = await reply.text();
      if (!reply.ok) throw new Error(text);
    }
    await toClipboard(text);
    button.textContent = "copied";
  } catch (error) {
    button.textContent = `not copied: ${error.message}`;
  }
  setTimeout(() => { button.textContent = words; }, 2500);
});

// --- keys ---

const KEYS = [
  ["/", "search the exchanges"], ["j, k", "the next or the one before: of the list, or of a session's turns"],
  ["Enter", "open it"], ["u", "back to all sessions"], ["?", "these keys"],
];

function help() {
  let dialog = document.getElementById("keys");
  if (!dialog) {
    dialog = element("dialog", null, document.body, { id: "keys", ariaLabel: "Keys" });
    const list = element("dl", null, dialog);
    KEYS.forEach(([key, words]) => { element("dt", key, list); element("dd", words, list); });
    const close = element("button", "close", dialog);
    close.addEventListener("click", () => dialog.close());
  }
  if (!dialog.open) dialog.showModal();
}

function stops() {
  const visible = (one) => one.checkVisibility();
  const turns = [...document.querySelectorAll(".turns > li")].filter(visible);
  if (turns.length) return turns;
  return [...document.querySelectorAll(".list tbody tr")].filter(visible)
    .map((row) => row.querySelector("a")).filter(Boolean);
}

function step(by) {
  const all = stops();
  const here = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const next = all[Math.max(0, Math.min(all.length - 1, here < 0 ? (by > 0 ? 0 : all.length - 1) : here + by))];
  if (!next) return;
  if (!next.matches("a")) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const search = document.querySelector(".search input");
  const back = [...document.querySelectorAll(".back a")].find((one) => one.checkVisibility());
  if (event.key === "/" && search?.checkVisibility()) search.focus();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "u" && back) back.click();
  else if (event.key === "?") help();
  else return;
  event.preventDefault();
});

// --- the list ---

// What is chosen stands in the address behind #?, so that it can be sent to somebody and is there after a reload.
function chosen() {
  return new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
}

class Exchanges {
  constructor(holder, names, address) {
    this.holder = holder;
    this.names = names;
    this.address = address;
    this.rows = new Map();
    this.at = Object.fromEntries(names.map((name, place) => [name, place]));
    this.shown = names.filter((name) => !["place", "id", "kinds", "text"].includes(name));
    const form = element("p", null, holder, { className: "search" });
    this.search = element("input", null, form, {
      type: "search", placeholder: "search text, tool, model, reason  ( / )", ariaLabel: "Search",
    });
    this.selects = ["model", "agent", "server"].map((name) => {
      const select = element("select", null, form, { ariaLabel: name });
      select.addEventListener("change", () => this.choose({ [name]: select.value }));
      return [name, select];
    });
    this.chips = element("p", null, holder, { className: "chips" });
    this.chips.role = "group";
    this.chips.ariaLabel = "Filters";
    this.count = element("p", null, holder, { className: "hint", role: "status" });
    const wide = element("div", null, holder, { className: "wide", role: "region", ariaLabel: "Exchanges", tabIndex: 0 });
    const table = element("table", null, wide, { className: "list", ariaLabel: "Exchanges" });
    const head = element("tr", null, element("thead", null, table));
    this.heads = this.shown.map((name) => {
      const cell = element("th", null, head, { scope: "col" });
      const button = element("button", name, cell, { type: "button", title: `sort by ${name}` });
      button.addEventListener("click", () => this.sort(name));
      return [name, cell];
    });
    this.body = element("tbody", null, table);
    const pages = element("p", null, holder, { className: "pages" });
    this.before = element("button", "← earlier page", pages, { type: "button" });
    this.where = element("span", "", pages);
    this.after = element("button", "next page →", pages, { type: "button" });
    this.before.addEventListener("click", () => this.choose({ page: this.page - 1 }, true));
    this.after.addEventListener("click", () => this.choose({ page: this.page + 1 }, true));
    this.search.addEventListener("input", () => this.choose({ q: this.search.value }));
    addEventListener("hashchange", () => { if (!location.hash || location.hash.startsWith("#?")) this.draw(); });
  }

  put(rows, gone = []) {
    rows.forEach((row) => this.rows.set(row[this.at.id], { row, text: null }));
    gone.forEach((id) => this.rows.delete(id));
    this.fill();
    this.draw();
  }

  fill() {
    this.selects.forEach(([name, select]) => {
      const found = [...new Set([...this.rows.values()].map(({ row }) => row[this.at[name]]))].sort();
      if (select.options.length === found.length + 1) return;
      select.replaceChildren();
      element("option", `every ${name}`, select, { value: "" });
      found.forEach((one) => element("option", one, select, { value: one }));
    });
  }

  choose(more, keepPage = false) {
    const now = chosen();
    if (!keepPage) now.delete("page");
    Object.entries(more).forEach(([key, value]) => (value ? now.set(key, value) : now.delete(key)));
    history.replaceState(null, "", String(now) ? `#?${now}` : "#");
    this.draw();
  }

  sort(name) {
    const now = chosen().get("sort");
    this.choose({ sort: now === `-${name}` ? name : now === name ? "" : `-${name}` });
  }

  passes(now) {
    const words = (now.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = (now.get("status") ?? "").split(",").filter(Boolean);
    const exact = ["model", "agent", "server"].filter((name) => now.get(name)).map((name) => [this.at[name], now.get(name)]);
    const at = this.at.kinds;
    return (one) => {
      const { row } = one;
      if (exact.some(([place, value]) => row[place] !== value)) return false;
      if (kinds.length && !kinds.some((kind) => row[at].includes(kind))) return false;
      if (!words.length) return true;
      one.text ??= row.slice(2).flat().join("\n").toLowerCase();
      return words.every((word) => one.text.includes(word));
    };
  }

  draw() {
    const now = chosen();
    if (document.activeElement !== this.search) this.search.value = now.get("q") ?? "";
    this.selects.forEach(([name, select]) => { select.value = now.get(name) ?? ""; });
    const kinds = (now.get("status") ?? "").split(",").filter(Boolean);
    const others = new URLSearchParams(now);
    others.delete("status");
    const counts = new Map();
    const all = [...this.rows.values()];
    const withoutStatus = all.filter(this.passes(others));
    withoutStatus.forEach(({ row }) => row[this.at.kinds].forEach((kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1)));
    this.drawChips(now, kinds, counts);
    const found = kinds.length ? withoutStatus.filter(this.passes(now)) : withoutStatus;
    const by = now.get("sort") || "-began";
    const place = this.at[by.replace(/^-/, "")] ?? this.at.began;
    const sign = by.startsWith("-") ? -1 : 1;
    found.sort(({ row: a }, { row: b }) => (a[place] < b[place] ? -sign : a[place] > b[place] ? sign : 0));
    this.heads.forEach(([name, cell]) => {
      cell.ariaSort = by.replace(/^-/, "") !== name ? null : sign < 0 ? "descending" : "ascending";
    });
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    this.page = Math.min(last + 1, Math.max(1, Number(now.get("page")) || 1));
    const count = `${found.length} of ${all.length} exchanges`;
    if (this.count.textContent !== count) this.count.textContent = count;
    this.where.textContent = ` page ${this.page} of ${last + 1} `;
    this.before.disabled = this.page === 1;
    this.after.disabled = this.page === last + 1;
    const focus = [...this.body.querySelectorAll("a")].find((one) => one === document.activeElement)?.getAttribute("href");
    const lines = found.slice((this.page - 1) * PAGE, this.page * PAGE).map(({ row }) => this.line(row));
    this.body.replaceChildren(...lines);
    if (focus) [...this.body.querySelectorAll("a")].find((one) => one.getAttribute("href") === focus)?.focus({ preventScroll: true });
  }

  drawChips(now, kinds, counts) {
    const had = document.activeElement?.dataset?.chip;
    const shown = new Set([...KINDS.filter((kind) => counts.has(kind)), ...counts.keys(), ...kinds]);
    const made = [...shown].map((kind) => {
      const chosenNow = kinds.includes(kind);
      const chip = element("button", `${kind} ${counts.get(kind) ?? 0}`, null, { type: "button", title: MEANS[kind] ?? "" });
      chip.className = `chip ${kind.replaceAll(" ", "-")}`;
      chip.dataset.chip = kind;
      chip.ariaPressed = String(chosenNow);
      const next = chosenNow ? kinds.filter((one) => one !== kind) : [...kinds, kind];
      chip.addEventListener("click", () => this.choose({ status: next.join(",") }));
      return chip;
    });
    ["model", "agent", "server"].filter((name) => now.get(name)).forEach((name) => {
      const chip = element("button", `${name}: ${now.get(name)} ×`, null, { type: "button", className: "chip" });
      chip.ariaPressed = "true";
      chip.addEventListener("click", () => this.choose({ [name]: "" }));
      made.push(chip);
    });
    this.chips.replaceChildren(...made);
    if (had) made.find((one) => one.dataset.chip === had)?.focus({ preventScroll: true });
  }

  line(row) {
    const line = element("tr", null, null);
    this.shown.forEach((name) => {
      const cell = element("td", null, line);
      cell.dataset.name = name;
      const text = row[this.at[name]];
      if (name === "began") element("a", text, cell, { href: this.address(row) });
      else if (name === "took") element("span", text === null ? "" : took(text), cell);
      else if (name === "status") {
        const holder = element("span", null, cell);
        row[this.at.kinds].forEach((kind) => element("span", kind, holder, {
          className: `badge ${kind.replaceAll(" ", "-")}`, title: MEANS[kind] ?? "",
        }));
      } else element("span", String(text), cell);
    });
    return line;
  }
}

function took(seconds) {
  return seconds < 0.1 ? `${Math.round(seconds * 1000)} ms` : seconds < 10 ? `${seconds.toFixed(2)} s` : `${Math.round(seconds)} s`;
}
