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

const main = document.querySelector("main");

// The page as it is by now; it says whether it changes by itself again.
async function fresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const place = page.querySelector("main");
  const again = place?.hasAttribute("data-again");
  const held = document.activeElement?.getAttribute("href");
  main.replaceChildren(...(place?.childNodes ?? []));
  document.title = page.title;
  current = Math.min(current, rows().length - 1);
  rows()[current]?.classList.add("current");
  // Who was at a row stays there.
  if (held) main.querySelector(`a[href="${CSS.escape(held)}"]`)?.focus();
  return again;
}

if (main?.hasAttribute("data-again")) {
  let pause = 250;
  const again = async () => {
    const goesOn = isTyping(document.activeElement) || (await fresh().catch(() => true));
    pause = Math.min(2 * pause, 1000);
    if (goesOn) setTimeout(again, pause);
    else if (main.querySelector("progress")) location.reload();
  };
  setTimeout(again, pause);
}

if (main?.dataset.live) {
  let waiting = 0;
  const again = async () => {
    waiting = 0;
    if (isTyping(document.activeElement)) later();
    else await fresh();
  };
  const later = () => { waiting ||= setTimeout(again, 300); };
  const feed = new EventSource(main.dataset.live);
  for (const kind of ["approval.pending", "approval.decided", "approval.expired", "audit"]) feed.addEventListener(kind, later);
}
