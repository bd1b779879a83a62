const body = document.querySelector("#runs tbody");
const filter = document.getElementById("filter");
const seen = document.getElementById("seen");
let runs = [];
let sorted = { key: "updated_at", falling: true };

function matches(run) {
  const words = filter.value.toLowerCase().split(/\s+/);
  const text = `${run.name} ${run.state} ${run.design} ${run.backend}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function compare(a, b) {
  const [x, y] = [a[sorted.key], b[sorted.key]];
  if (x === y) return a.name < b.name ? -1 : 1;
  if (x === null) return 1; // unknown figures come last, whichever way
  if (y === null) return -1;
  return (x < y ? -1 : 1) * (sorted.falling ? -1 : 1);
}

function show() {
  const chosen = runs.filter(matches).sort(compare);
  seen.classList.remove("busy");
  seen.textContent = `${chosen.length} of ${runs.length} runs`;
  const focused = document.activeElement?.dataset?.run;
  body.replaceChildren();
  for (const run of chosen) {
    const row = body.insertRow();
    const link = document.createElement("a");
    link.href = `run/${encodeURIComponent(run.key)}/`;
    link.textContent = run.name;
    link.dataset.run = run.key;
    cell(row, "", "text name").append(link);
    const state = cell(row, "", "text");
    const word = document.createElement("span");
    word.className = "state";
    if (/^[a-z]+$/.test(run.state)) word.classList.add(run.state);
    word.textContent = run.state;
    word.title = run.words;
    state.append(word);
    cell(row, run.design || "–", "text");
    cell(row, run.backend || "–", "text");
    const planned = run.rounds_planned === null ? "" : ` of ${run.rounds_planned}`;
    cell(row, run.rounds === null ? "–" : `${run.rounds}${planned}`);
    cell(row, count(run.shots));
    cell(row, count(run.budget));
    cell(row, figure(run.accuracy));
    const error = run.test_error === null ? "–" : `RMSE ${run.test_error.toLocaleString("en", { maximumSignificantDigits: 4 })}`;
    cell(row, run.test_accuracy === null ? error : figure(run.test_accuracy));
    const ago = run.updated_at === null ? null : Math.max(0, Date.now() / 1000 - run.updated_at);
    cell(row, ago === null ? "–" : `${duration(ago)} ago`);
    if (run.key === focused) link.focus();
  }
}

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const key = button.dataset.key;
    sorted = { key, falling: sorted.key === key ? !sorted.falling : false };
    for (const one of document.querySelectorAll("th")) one.ariaSort = "none";
    button.parentElement.ariaSort = sorted.falling ? "descending" : "ascending";
    show();
  });
}
filter.addEventListener("input", show);
keepAsking(
  "runs.json",
  (found) => { runs = found.runs; show(); },
  () => { seen.textContent = "the server has ended; showing the last known state"; },
);
