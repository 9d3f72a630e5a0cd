// Dark and light: the system's wish, or the reader's by the switch.

import { make } from "./dom.js";

const wish = window.matchMedia("(prefers-color-scheme: dark)");
const followers = new EventTarget();

export function isDark() {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : wish.matches;
}

export function setTheme(theme) {
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  followers.dispatchEvent(new Event("theme"));
}

export function onTheme(call, signal) {
  followers.addEventListener("theme", call, { signal });
}

wish.addEventListener("change", () => followers.dispatchEvent(new Event("theme")));

export function themeSwitch(signal) {
  const button = make("button", { type: "button", class: "xa-button", "data-role": "theme", "aria-pressed": String(isDark()) }, "dark");
  button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  onTheme(() => button.setAttribute("aria-pressed", String(isDark())), signal);
  return button;
}
