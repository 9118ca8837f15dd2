"use strict";
const FORMAT = "vca-annotation-decisions/1";
const ANSWERS = { y: "yes", n: "no", u: "unsure" };
const sheet = document.body.dataset.sheet;
const store = `vca-annotation:${sheet}`;
const items = [...document.querySelectorAll("article")];
const byId = (id) => document.getElementById(id);
let place = 0;
let kept = true; // whether this browser keeps the answers
let unsaved = false;

const questions = (item) => [...item.querySelectorAll("fieldset")];
const chosen = (question) => question.querySelector(":checked")?.value ?? null;
const complete = (item) => questions(item).every(chosen);

function say(text, warning = false) {
  const message = byId("message");
  message.textContent = text;
  message.classList.toggle("warning", warning);
}

function collect() {
  const decisions = items.map((item) => ({
    item: item.dataset.item,
    ...Object.fromEntries(questions(item).map((q) => [q.dataset.criterion, chosen(q)])),
  }));
  return { format: FORMAT, sheet, saved: new Date().toISOString(), decisions };
}

// Throws, before any answer is changed, when the data is not of this sheet.
function fill(data) {
  if (data?.format !== FORMAT) throw Error(`no file of the format ${FORMAT}`);
  if (data.sheet !== sheet) throw Error("it belongs to another sheet");
  if (!Array.isArray(data.decisions)) throw Error("it holds no decisions");
  const byItem = new Map(data.decisions.map((decision) => [decision.item, decision]));
  if (byItem.size !== data.decisions.length) throw Error("an item stands twice in it");
  if (data.decisions.some(({ item }) => !items.some((i) => i.dataset.item === item)))
    throw Error("it names an item that is not here");
  const values = [null, ...Object.values(ANSWERS)];
  const planned = items.flatMap((item) =>
    questions(item).map((question) => {
      const value = byItem.get(item.dataset.item)?.[question.dataset.criterion] ?? null;
      if (!values.includes(value)) throw Error(`it holds the answer ${value}`);
      return [question, value];
    }),
  );
  for (const [question, value] of planned)
    for (const radio of question.querySelectorAll("input")) radio.checked = radio.value === value;
}

function keep() {
  try {
    localStorage.setItem(store, JSON.stringify(collect()));
  } catch {
    kept = false;
    say("This browser does not keep your answers: press Save before you close the page.", true);
  }
}

function count() {
  const done = items.filter(complete).length;
  byId("progress").value = done;
  byId("count").textContent = `${done} of ${items.length} answered`;
  byId("open").disabled = done === items.length;
  return done;
}

function show(next) {
  place = Math.max(0, Math.min(items.length - 1, next));
  items.forEach((item, i) => (item.hidden = i !== place));
  byId("previous").disabled = place === 0;
  byId("next").disabled = place === items.length - 1;
  const all = questions(items[place]);
  mark(all.find((question) => !chosen(question)) ?? all[0], true);
  if (place > 0) byId("help").open = false;
  scrollTo(0, 0);
}

function mark(question, preventScroll = false) {
  (question.querySelector(":checked") ?? question.querySelector("input")).focus({ preventScroll });
}

function changed() {
  unsaved = true;
  keep();
  if (count() === items.length && kept) say("All answered. Save, and send back the file.");
}

function answer(value) {
  const all = questions(items[place]);
  const at = Math.max(0, all.indexOf(document.activeElement.closest("fieldset")));
  all[at].querySelector(`[value="${value}"]`).checked = true;
  changed();
  if (at + 1 < all.length) mark(all[at + 1]);
  else mark(all[at]);
}

function save() {
  const link = document.createElement("a");
  const text = JSON.stringify(collect(), null, 1) + "\n";
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `decisions-${sheet}.json`;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  unsaved = false;
  const left = items.length - count();
  say(`Saved to ${link.download}` + (left ? `, ${left} items not yet answered.` : "."));
}

async function load(event) {
  const file = event.target.files[0];
  if (!file) return;
  const here = items.some((item) => questions(item).some(chosen));
  try {
    const data = JSON.parse(await file.text());
    if (here && !confirm("Replace the answers on this page by those of the file?")) return;
    fill(data);
    keep();
    say(`Loaded ${file.name}: ${count()} of ${items.length} items answered.`);
    show(items.findIndex((item) => !complete(item)));
  } catch (error) {
    say(`${file.name} was not loaded: ${error.message}.`, true);
  } finally {
    event.target.value = ""; // the same file can be chosen again
  }
}

function nextOpen() {
  const order = [...items.slice(place + 1), ...items.slice(0, place + 1)];
  const open = order.find((item) => !complete(item));
  if (open) show(items.indexOf(open));
}

document.addEventListener("change", (event) => event.target.type === "radio" && changed());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const onButton = event.target.matches("button, summary, [type=file]");
  if (key in ANSWERS) answer(ANSWERS[key]);
  else if (key === "enter" && !onButton) show(place + 1);
  else if (key === "p") show(place - 1);
  else return;
  event.preventDefault();
});
byId("save").addEventListener("click", save);
byId("load").addEventListener("change", load);
byId("previous").addEventListener("click", () => show(place - 1));
byId("next").addEventListener("click", () => show(place + 1));
byId("open").addEventListener("click", nextOpen);
addEventListener("beforeunload", (event) => unsaved && !kept && event.preventDefault());

try {
  const earlier = localStorage.getItem(store);
  if (earlier) fill(JSON.parse(earlier));
} catch (error) {
  say(`Earlier answers could not be read: ${error.message}.`, true);
}
const done = count();
show(done ? items.findIndex((item) => !complete(item)) : 0);
