// What is asked: the form of the page, made from what the host says of its models.

import { make, shown } from "./dom.js";

const LARGEST = 22 * 1024 * 1024;
const SLIDERS = { size: [1, 20, 1], length_penalty: [0, 2, 0.1], coverage_penalty: [0, 1, 0.05], bias: [0, 3, 0.1] };
const OWN_LABELS = { size: "beam width", length_penalty: "length penalty", coverage_penalty: "coverage penalty", nbest: "outputs", bias: "neatness (bias)", seed: "sample (seed)" };
const FILES = { picture: "image/*", film: "image/*,video/*", sound: "audio/*,.wav,.flac,.ogg,.npy,.mfc" };
const TOLD = /^(.*[.!?])\s+([^.!?]+[.!?])(?:\s+#\d+)*\s*$/su; // a story, its question, and perhaps the numbers of its facts

// a file as base64
async function base64(file) {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.addEventListener("load", () => resolve(String(reader.result).split(",", 2)[1] || ""));
    reader.addEventListener("error", () => reject(new Error("the file cannot be read")));
    reader.readAsDataURL(file);
  });
}

function settingField(one, changed) {
  const label = OWN_LABELS[one.name] || one.name.replaceAll("_", " "), id = `setting-${one.name}`;
  if (one.type === "boolean") {
    const box = make("input", { type: "checkbox", id, checked: Boolean(one.value), change: changed });
    return { one, element: make("label", { title: one.help }, box, label), value: () => box.checked };
  }
  if (one.type === "choice") {
    const choice = make("select", { id, class: "xa-choice", change: changed }, ...one.choices.map((word) => make("option", { value: word }, word)));
    choice.value = String(one.value);
    return { one, element: make("label", { title: one.help }, label, choice), value: () => choice.value };
  }
  if (SLIDERS[one.name]) {
    const [least, most, step] = SLIDERS[one.name], output = make("output", { for: id }, String(one.value));
    const slider = make("input", { type: "range", id, min: least, max: Math.max(most, one.value), step, value: one.value, "aria-label": label });
    slider.addEventListener("input", () => { output.textContent = String(Number(slider.value)); changed(); });
    return { one, element: make("label", { title: one.help }, label, slider, output), value: () => Number(slider.value) };
  }
  const field = make("input", { type: "number", id, class: "pg-field pg-number", min: one.minimum, max: one.maximum, step: one.type === "integer" ? 1 : "any", value: one.value, change: changed });
  return { one, element: make("label", { title: one.help }, label, field), value: () => (field.value === "" ? one.value : Number(field.value)) };
}

// the form for one model; `changed(fresh)` is called when something else is to be asked, `fresh` if the input is another
export class Asking {
  constructor(form, models, changed) {
    this.form = form;
    this.models = models;
    this.changed = changed;
    this.show = "0";
    this.picture = null;
    this.pictureName = "";
    this.lay();
  }

  get model() {
    return this.models[this.show === "both" ? 0 : Number(this.show)];
  }

  // numbers of the models that are asked
  get asked() {
    return this.show === "both" ? [0, 1] : [Number(this.show)];
  }

  lay() {
    const { model } = this;
    this.form.replaceChildren();
    if (this.models.length > 1) this.form.append(this.choice());
    if (model.kind === "text") this.form.append(this.textArea());
    else this.form.append(this.dropZone());
    if (model.asked || model.story) this.form.append(this.questionField());
    this.place = make("div", { class: "pg-examples" });
    this.form.append(this.place);
    this.offer();
    const fields = model.search.settings.filter((one) => one.name !== "nbest").map((one) => settingField(one, () => this.changed(false)));
    const outputs = model.search.settings.find((one) => one.name === "nbest");
    this.fields = fields;
    this.outputs = outputs ? settingField({ ...outputs, value: Math.max(outputs.value, 3), maximum: 100 }, () => this.changed(false)) : null;
    const pen = model.search.kind === "pen", first = fields.filter(({ one }) => pen || SLIDERS[one.name]), rest = fields.filter(({ one }) => !pen && !SLIDERS[one.name]);
    const button = make("button", { type: "submit", class: "xa-button", "data-role": "ask" }, "Decode");
    this.form.append(make("div", { class: "pg-row" }, button, ...first.map((field) => field.element), this.outputs ? this.outputs.element : null));
    if (rest.length) this.form.append(make("details", { class: "pg-more" }, make("summary", {}, `more settings of search "${model.search.kind}"`), make("div", { class: "pg-row" }, ...rest.map((field) => field.element))));
  }

  choice() {
    const choice = make("select", { class: "xa-choice", id: "show", "data-role": "show" }, ...this.models.map((model, at) => make("option", { value: String(at) }, shown(model.name))), make("option", { value: "both" }, "both, side by side"));
    choice.value = this.show;
    choice.addEventListener("change", () => {
      const text = this.text ? this.text.value : "";
      this.show = choice.value;
      this.lay();
      if (this.text) this.text.value = text;
      document.getElementById("show").focus();
      this.changed(true);
    });
    return make("div", { class: "pg-row" }, make("label", {}, "model", choice));
  }

  textArea() {
    const { model } = this;
    const hint = model.story ? "type a story here, a sentence a line; the question goes below, or last" : `type here: ${model.source}`;
    this.text = make("textarea", { id: "text", dir: "auto", spellcheck: "false", "aria-label": `source: ${model.source}`, placeholder: hint });
    this.text.addEventListener("input", () => this.changed(true));
    this.text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit(); });
    return this.text;
  }

  dropZone() {
    this.text = null;
    const file = make("input", { type: "file", id: "picture", accept: FILES[this.model.kind], "aria-label": `a ${this.model.kind} from a file` });
    const name = make("span", { class: "xa-faint", "data-role": "picture-name" }, this.pictureName);
    const zone = make("div", { class: "pg-drop", "data-role": "drop" }, `Drop a ${this.model.kind} here, or choose one: `, file, name);
    const take = async (given) => {
      if (!given) return;
      if (given.size > LARGEST) { name.textContent = `${shown(given.name)} is larger than ${LARGEST >> 20} MB`; return; }
      this.pictureName = shown(given.name);
      name.textContent = this.pictureName;
      this.drawn = null;
      this.picture = await base64(given);
      this.changed(true);
    };
    file.addEventListener("change", () => take(file.files[0]));
    for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.dataset.over = "true"; });
    zone.addEventListener("dragleave", () => { zone.dataset.over = "false"; });
    zone.addEventListener("drop", (event) => { event.preventDefault(); zone.dataset.over = "false"; take(event.dataTransfer.files[0]); });
    this.named = name;
    return zone;
  }

  questionField() {
    this.question = make("input", { type: "text", id: "question", class: "pg-field", dir: "auto", placeholder: `a question about the ${this.model.story ? "story" : "picture"}`, "aria-label": "question" });
    this.question.addEventListener("input", () => this.changed(true));
    return this.question;
  }

  // inputs of the model's own task that it was not trained on, as soon as the host knows some
  offer() {
    const { examples } = this.model;
    if (!examples || !examples.length) return;
    this.place.replaceChildren(make("span", { class: "xa-faint" }, "for example"),
      ...examples.map((text) => make("button", { type: "button", class: "xa-button", dir: "auto", title: shown(text), click: () => this.take(text) }, shown(text))));
  }

  take(text) {
    const parts = this.model.story ? TOLD.exec(text) : null;
    if (this.text) this.text.value = parts ? parts[1] : text;
    if (this.text) { if (this.model.story) this.question.value = parts ? parts[2] : ""; } else {
      const at = this.model.asked ? text.lastIndexOf("|") : -1;
      this.picture = null;
      this.drawn = at < 0 ? text : text.slice(0, at).trim();
      this.pictureName = shown(this.drawn);
      this.named.textContent = this.pictureName;
      if (this.model.asked) this.question.value = text.slice(at + 1).trim();
    }
    this.changed(true);
  }

  // the question as the host wants it; null if there is nothing to ask yet
  request() {
    const { model } = this, found = {};
    if (this.text) {
      if (!this.text.value.trim()) return null;
      found.text = this.text.value;
      if (model.story && this.question.value.trim()) found.question = this.question.value;
    } else {
      if (this.picture) found[model.kind === "sound" ? "sound" : "picture"] = this.picture;
      else if (this.drawn) found.text = this.drawn;
      else return null;
      if (model.asked) {
        if (!this.question.value.trim()) return null;
        found.question = this.question.value;
      }
    }
    for (const { one, value } of this.fields) {
      const now = value();
      if (one.name === "size") found.beam = now;
      else if (now !== one.value) found[one.name] = now;
    }
    if (this.outputs) found.nbest = Math.max(1, Math.min(this.outputs.value(), found.beam || 1));
    return found;
  }
}
