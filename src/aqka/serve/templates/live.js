"use strict";
// For both pages: ask again and again, and write what comes as text, never as markup.
const EVERY = 1500;

function cell(row, text, className) {
  const made = row.insertCell();
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

const count = (number) => (number === null ? "–" : number.toLocaleString("en"));
const figure = (number) => (number === null ? "–" : number.toFixed(3));

function duration(seconds) {
  if (seconds === null) return "–";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

function keepAsking(address, show, lost) {
  const ask = async () => {
    try {
      const answer = await fetch(address, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      show(await answer.json());
    } catch {
      lost();
    }
    setTimeout(ask, EVERY);
  };
  ask();
}
