// A slider over the steps of something that moves, and a button that plays them.

import { make, shown } from "./dom.js";

// `choose(step)` is called whenever another step is to be shown; `pace` is milliseconds a step; `name(step)` says it in words
export function stepPlayer(count, step, choose, { label = "step", pace = 500, name = (at) => `${label} ${at + 1} of ${count}` } = {}) {
  let now = Math.min(step, Math.max(0, count - 1)), frame = 0;
  const slider = make("input", { type: "range", class: "xa-slider", min: 0, max: Math.max(0, count - 1), step: 1, value: now, "aria-label": `${label}; arrow keys step`, "data-role": "slider" });
  const said = make("output", { "data-role": "step" }, shown(name(now)));
  const button = make("button", { type: "button", class: "xa-button", "data-role": "play", click: () => (frame ? stop() : play()) }, "play");

  function mark(at) {
    now = at;
    slider.value = String(at);
    said.textContent = shown(name(at));
  }

  function go(at) {
    mark(at);
    choose(at);
  }

  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
    button.textContent = "play";
  }

  function play() {
    const first = now >= count - 1 ? 0 : now, began = performance.now();
    button.textContent = "stop";
    if (first !== now) go(first);
    const tick = (time) => {
      const at = Math.min(count - 1, first + Math.max(0, Math.floor((time - began) / pace)));
      if (at !== now) go(at);
      if (at >= count - 1) stop();
      else frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
  }

  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  return { element: make("div", { class: "xa-tools", "data-role": "player" }, button, slider, said), mark, stop };
}
