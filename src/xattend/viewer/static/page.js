// The page of `xattend view`: ask, see, edit, ask again. All of it comes from this machine, and asks nobody else.

import { shown, number } from "./dom.js";
import { render } from "./render.js";
import { renderTwo } from "./compare.js";
import { Asking } from "./page-ask.js";
import { Editing } from "./page-edit.js";

const WAIT = 350;
const part = (id) => document.getElementById(id);

// what the host says, or an Error with its one line
async function fromHost(path, body, signal) {
  let found;
  try {
    found = await fetch(path, body === undefined ? { signal } : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the host does not answer: is `xattend view` still running?");
  }
  const said = await found.json();
  if (!found.ok) throw new Error(said.error || `status ${found.status}`);
  return said;
}

function tell(text, bad = false) {
  part("said").textContent = shown(text);
  part("said").dataset.bad = String(bad);
}

function startPage(models) {
  const place = part("answer");
  let waiting = null, running = null, handles = [], view = null, answers = 0;

  async function draw(docs) {
    for (const handle of handles) handle.destroy();
    place.replaceChildren();
    if (docs.length === 2) {
      editing.hide();
      handles = await renderTwo(place, docs[0], docs[1], { names: models.map((model) => model.name), view });
      return;
    }
    const { edits } = models[asking.asked[0]]; // whether a hand can be laid on this model
    handles = [await render(place, docs[0], { view, onShow: (name) => { view = name; }, edit: !edits ? null : { force: (tokens) => editing.force(tokens), mask: (places) => editing.mask(places), row: (step, weights) => editing.row(step, weights) } })];
    if (handles[0].trace && edits) editing.show(handles[0].trace);
    else editing.hide();
  }

  async function askNow() {
    clearTimeout(waiting);
    const request = asking.request();
    if (running) running.abort();
    if (!request) {
      tell("");
      return;
    }
    const own = new AbortController(), started = performance.now();
    running = own;
    place.setAttribute("aria-busy", "true");
    document.body.dataset.state = "asking";
    try {
      const more = asking.asked.length === 1 ? editing.request() : {};
      const docs = [];
      for (const model of asking.asked) docs.push(await fromHost("api/predict", { ...request, ...more, model, tree: true, modes: true }, own.signal));
      if (own !== running) return;
      await draw(docs);
      answers += 1;
      Object.assign(document.body.dataset, { state: "ready", answers });
      tell(`${number((performance.now() - started) / 1000, 2)} s`);
    } catch (error) {
      if (error.name === "AbortError" || own !== running) return;
      document.body.dataset.state = "error";
      tell(error.message, true);
    } finally {
      if (own === running) place.removeAttribute("aria-busy");
    }
  }

  // an input that changed has other steps and positions: edits of the old one mean nothing there
  function changed(fresh) {
    if (fresh) editing.clear();
    document.body.dataset.state = "waiting";
    clearTimeout(waiting);
    waiting = setTimeout(askNow, WAIT);
  }

  const editing = new Editing(part("edit"), askNow, tell);
  const asking = new Asking(part("ask"), models, changed);
  part("ask").addEventListener("submit", (event) => { event.preventDefault(); askNow(); });
  part("about").textContent = shown(models.map((model) => [model.name, model.title].filter(Boolean).join(": ")).join("  |  "));
  document.body.dataset.state = "ready";
  if (asking.text) asking.text.focus();
  offerLater(models, asking);
}

// the host finds examples while the page is already in use
async function offerLater(models, asking) {
  while (models.some((model) => model.examples === null)) {
    await new Promise((resolve) => { setTimeout(resolve, 500); });
    try {
      (await fromHost("api/models")).forEach((found, at) => { models[at].examples = found.examples; });
    } catch {
      return;
    }
    asking.offer();
  }
}

fromHost("api/models").then(startPage, (error) => tell(error.message, true));
