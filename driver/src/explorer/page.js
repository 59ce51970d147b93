"use strict";
// Lights the lines of a function that share a topic with the touched line. A line of the declaration stands for a whole
// value, so that it goes with each part of the value.
const topicsOf = (line) => line.dataset.topics.split(" ");
const isWhole = (line) => line.closest(".whole") !== null;
const isPart = (part, whole) => part === whole || part.startsWith(whole + ".") || part.startsWith(whole + "[");

function belongs(line, touched) {
  const either = isWhole(line) || isWhole(touched);
  return topicsOf(line).some((a) => topicsOf(touched).some((b) =>
    a === b || (either && (isPart(a, b) || isPart(b, a)))));
}

function light(touched, kept) {
  const section = touched.closest("section");
  for (const line of document.querySelectorAll("code.lit")) line.classList.remove("lit", "kept");
  for (const line of section.querySelectorAll("code[data-topics]")) {
    if (!belongs(line, touched)) continue;
    line.classList.add("lit");
    if (kept) line.classList.add("kept");
  }
  if (!kept) return;
  for (const pre of section.querySelectorAll("pre")) {
    const first = pre.querySelector("code.lit");
    if (first && first !== touched) pre.scrollTop = first.offsetTop - pre.offsetTop - 40;
  }
}

let kept = null;
document.addEventListener("mouseover", (event) => {
  const line = event.target.closest("code[data-topics]");
  if (line && !kept) light(line, false);
});
function keep(line) {
  kept = line === kept ? null : line;
  if (line) light(line, kept !== null);
}
document.addEventListener("click", (event) => {
  const line = event.target.closest("code[data-topics]");
  if (line) keep(line);
});
document.addEventListener("keydown", (event) => {
  const line = event.target.closest("code[data-topics]");
  if (line && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); keep(line); }
  if (event.key === "Escape") kept = null;
});
// A topic after `#` and `!` is kept from the start: `page.html#!x.shape0`.
if (location.hash.startsWith("#!")) {
  const wanted = decodeURIComponent(location.hash.slice(2));
  const lines = [...document.querySelectorAll("code[data-topics]")];
  keep(lines.find((line) => !isWhole(line) && topicsOf(line).includes(wanted)) || null);
}
