// The words of the output as a strip of buttons to step through, by pointer or by arrow keys.

import { make, isolated, tokenLabel } from "./dom.js";

export function wordStrip(tokens, step, choose) {
  const buttons = tokens.map((token, at) => isolated("button", { type: "button", class: "xa-word", "aria-label": `step ${at + 1}: ${tokenLabel(token)}`, click: () => go(at) }, tokenLabel(token)));
  const strip = make("div", { class: "xa-strip", role: "toolbar", "aria-label": "words of the output; arrow keys step", "data-role": "strip" }, ...buttons);
  let now = -1;

  function mark(at) {
    if (buttons[now]) {
      buttons[now].setAttribute("aria-pressed", "false");
      buttons[now].tabIndex = -1;
    }
    now = at;
    buttons[now].setAttribute("aria-pressed", "true");
    buttons[now].tabIndex = 0;
    buttons[now].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function go(at) {
    if (at < 0 || at >= buttons.length) return;
    mark(at);
    choose(at);
  }

  strip.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -now, End: buttons.length - 1 - now }[event.key];
    if (move === undefined) return;
    go(now + move);
    buttons[now].focus();
    event.preventDefault();
  });
  for (const button of buttons) {
    button.tabIndex = -1;
    button.setAttribute("aria-pressed", "false");
  }
  if (buttons.length) mark(Math.min(step, buttons.length - 1));
  return { element: strip, go, mark };
}
