"use strict";
// Sliders colour people as they move; when one comes to rest, the server says what it means.
const form = document.querySelector("form[data-live]");
if (form) {
  const colour = (slider) => {
    const people = document.querySelectorAll(`#${slider.dataset.crowd} .suspect`);
    people.forEach((person, place) => {
      person.setAttribute("opacity", Math.min(1, Math.max(0, slider.value - place)));
    });
    slider.setAttribute("aria-valuetext", `${slider.value}%`);
    document.querySelector(`output[data-of="${slider.name}"]`).textContent = `${slider.value}%`;
  };
  form.querySelectorAll("input[type=range]").forEach((slider) => {
    slider.addEventListener("input", () => colour(slider));
  });
  // Keys move a slider step by step: the page waits for the last one, and comes back to where it was left.
  let resting;
  form.addEventListener("change", (event) => {
    clearTimeout(resting);
    form.setAttribute("action", `${location.pathname}#${event.target.id}`);
    resting = setTimeout(() => form.requestSubmit(), 400);
  });
  form.querySelector("[data-quiet]").hidden = true;
  document.getElementById(location.hash.slice(1))?.focus({ preventScroll: true });
}
// A point that moves along its curve; every place of it was computed with the page.
const curve = document.querySelector("form[data-curve]");
if (curve) {
  const slider = curve.elements.at, point = document.getElementById("at-point");
  const rows = document.querySelectorAll("tr[data-said]");
  slider.addEventListener("input", () => {
    const { x, y, cap, said } = rows[slider.value].dataset;
    point.setAttribute("cx", x);
    point.setAttribute("cy", y);
    slider.setAttribute("aria-valuetext", cap);
    curve.querySelector("output").textContent = cap;
    document.getElementById("said").textContent = said;
    rows.forEach((row, place) => { row.ariaCurrent = String(place === Number(slider.value)); });
  });
}
const found = document.getElementById("found");
if (found) {
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "nearest" });
}
// The choice of a table opens its page.
const choice = document.querySelector("form[data-choice]");
if (choice) {
  choice.addEventListener("change", () => choice.requestSubmit());
  choice.querySelector("[data-quiet]").hidden = true;
}
const editor = document.getElementById("sql");
if (editor) {
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      editor.form.requestSubmit(editor.form.querySelector("button[value=plan]"));
    }
  });
}
// A table's form: only the entries that go with a column's type, and the noise of answers as they are typed.
const table = document.querySelector("form[data-preview]");
if (table) {
  const fit = (column) => {
    const kind = column.querySelector("select[name$='.type']").value;
    const hidden = column.querySelector("select[name$='.role']").value === "identifier";
    column.querySelectorAll("[data-types]").forEach((field) => {
      field.hidden = hidden || !field.dataset.types.split(" ").includes(kind);
      field.querySelectorAll("input, select, textarea").forEach((each) => { each.disabled = field.hidden; });
    });
    const declared = column.querySelector("input[type=checkbox]").checked;
    column.classList.toggle("left-out", !declared);
  };
  const person = table.elements["entries.person"];
  const fitPerson = () => table.querySelectorAll("[data-person]").forEach((field) => {
    field.hidden = ["", "row", "none"].includes(person.value);
    field.querySelectorAll("input").forEach((each) => { each.disabled = field.hidden; });
  });
  table.querySelectorAll("fieldset.entry").forEach(fit);
  fitPerson();
  const noise = document.getElementById("noise");
  let pause, asked = 0;
  const preview = async () => {
    const turn = ++asked;
    const answer = await fetch(table.dataset.preview, { method: "POST", body: new URLSearchParams(new FormData(table)) });
    if (answer.ok && turn === asked) noise.textContent = (await answer.json()).sentence;
  };
  table.addEventListener("input", (event) => {
    const column = event.target.closest("fieldset.entry");
    if (column) fit(column);
    fitPerson();
    clearTimeout(pause);
    pause = setTimeout(() => preview().catch(() => {}), 300);
  });
  table.querySelector("[aria-invalid]")?.focus();
}
const upload = document.querySelector("input[type=file][data-most]");
if (upload) {
  upload.addEventListener("change", () => {
    const large = upload.files.length > 0 && upload.files[0].size > Number(upload.dataset.most);
    document.getElementById("too-large").hidden = !large;
    upload.form.querySelector("button").disabled = large;
  });
}
