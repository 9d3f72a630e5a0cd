// What a page without a server does when it opens: charts are drawn at once, traces when they are opened or come near.

import { make, shown } from "./dom.js";
import { lineChart } from "./chart.js";
import { render } from "./render.js";
import { renderTwo } from "./compare.js";
import { themeSwitch } from "./theme.js";

// data lies in the page as JSON that no browser runs
function block(id) {
  const found = document.getElementById(`data-${id}`);
  return found ? JSON.parse(found.textContent) : null;
}

async function drawTrace(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "true";
  const options = { view: place.dataset.view, themeSwitch: place.dataset.switch === "true", texts: place.dataset.texts !== "false" };
  if (place.dataset.names) options.names = JSON.parse(place.dataset.names);
  try {
    if (place.dataset.beside) await renderTwo(place, block(place.dataset.json), block(place.dataset.beside), options);
    else await render(place, block(place.dataset.json), options);
  } catch (error) {
    place.append(make("p", { class: "xa-error", role: "alert" }, shown(error.message)));
  }
}

function fillReport() {
  for (const place of document.querySelectorAll("[data-role=theme-place]")) place.append(themeSwitch());
  for (const place of document.querySelectorAll(".xa-charts")) for (const chart of block(place.dataset.json) || []) lineChart(place, chart);
  for (const place of document.querySelectorAll(".xa-trace")) {
    const fold = place.closest("details");
    if (!fold || fold.open) drawTrace(place);
    if (fold) fold.addEventListener("toggle", () => { if (fold.open) drawTrace(place); });
  }
}

fillReport();
