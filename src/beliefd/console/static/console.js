// What pages do beyond plain HTML: keys, and lists that stay up to date. Every page works without it.
"use strict";

const rows = () => [...document.querySelectorAll("tr[data-row]")];
let current = -1;

function move(by) {
  const all = rows();
  if (!all.length) return;
  all[current]?.classList.remove("current");
  current = Math.min(Math.max(current + by, 0), all.length - 1);
  all[current].classList.add("current");
  all[current].querySelector("a")?.focus();
}

function isTyping(place) {
  return place instanceof Element && place.closest("input, textarea, select") !== null;
}

document.addEventListener("keydown", (pressed) => {
  if (isTyping(pressed.target) || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
  if (pressed.key === "j") move(1);
  else if (pressed.key === "k") move(-1);
  else {
    // A key never decides by itself: it goes to the button, and Enter presses it.
    const place = document.querySelector(`[data-key="${CSS.escape(pressed.key)}"]`);
    if (!place) return;
    if (place instanceof HTMLDetailsElement) place.open = true;
    (place.querySelector("summary") ?? place).focus();
  }
  pressed.preventDefault();
});

const main = document.querySelector("main[data-live]");
if (main) {
  let waiting = 0;
  const again = async () => {
    waiting = 0;
    if (isTyping(document.activeElement)) return later();
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const held = document.activeElement?.getAttribute("href");
    main.replaceChildren(...(fresh.querySelector("main")?.childNodes ?? []));
    document.title = fresh.title;
    current = Math.min(current, rows().length - 1);
    rows()[current]?.classList.add("current");
    // Who was at a row stays there.
    if (held) main.querySelector(`a[href="${CSS.escape(held)}"]`)?.focus();
  };
  const later = () => { waiting ||= setTimeout(again, 300); };
  const feed = new EventSource(main.dataset.live);
  for (const kind of ["approval.pending", "approval.decided", "approval.expired", "audit"]) feed.addEventListener(kind, later);
}

// What takes long says so, from the click to the next page.
for (const link of document.querySelectorAll("a[data-wait]")) {
  link.addEventListener("click", () => {
    const told = document.createElement("p");
    told.setAttribute("role", "status");
    told.append(link.dataset.wait, document.createElement("progress"));
    link.closest("nav, p, form")?.after(told);
  });
}
