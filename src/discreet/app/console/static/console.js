"use strict";
// Sliders colour people as they move; when one comes to rest, the server says what it means.
const form = document.querySelector("form[data-live]");
if (form) {
  const colour = (slider) => {
    const people = document.querySelectorAll(`#${slider.dataset.crowd} .suspect`);
    people.forEach((person, place) => {
      person.setAttribute("opacity", Math.min(1, Math.max(0, slider.value - place)));
    });
    document.querySelector(`output[data-of="${slider.name}"]`).textContent = `${slider.value}%`;
  };
  form.querySelectorAll("input[type=range]").forEach((slider) => {
    slider.addEventListener("input", () => colour(slider));
  });
  form.addEventListener("change", () => form.requestSubmit());
  form.querySelector("[data-quiet]").hidden = true;
}
const found = document.getElementById("found");
if (found) {
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "nearest" });
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
