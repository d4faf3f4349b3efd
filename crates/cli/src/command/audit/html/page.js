"use strict";
const body = document.querySelector("tbody");
// A message names the worst findings alone.
const rows = Array.from(body.rows, (row) => ({ row, text: `${row.textContent} ${row.dataset.findings}`.toLowerCase() }));
const words = document.getElementById("words");
const verdict = document.getElementById("verdict");
const shown = document.getElementById("shown");

function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let number = 0;
  for (const { row, text } of rows) {
    const fits = wanted.every((word) => text.includes(word)) &&
      (verdict.value === "" || row.dataset.verdict === verdict.value);
    row.hidden = !fits;
    number += fits ? 1 : 0;
  }
  shown.textContent = `${number} of ${rows.length}`;
}

function sort(header) {
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const column = header.cellIndex;
  const value = ({ row }) => row.cells[column].textContent.trim();
  const order = (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
  rows.sort((a, b) => (ascending ? order(a, b) : order(b, a)));
  body.append(...rows.map(({ row }) => row));
}

function choose(bar) {
  words.value = words.value === bar.dataset.words ? "" : bar.dataset.words;
  filter();
}

words.addEventListener("input", filter);
verdict.addEventListener("change", filter);
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button.parentElement));
}
for (const bar of document.querySelectorAll("svg .row")) {
  bar.addEventListener("click", () => choose(bar));
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(bar);
  });
}
filter();
