const frame = document.getElementById("report");
const jobs = document.querySelector("#jobs tbody");
const making = document.getElementById("making");
let shown = null;

function reload() {
  const inner = frame.contentWindow;
  const place = shown === null ? 0 : inner.scrollY;
  making.hidden = false;
  frame.onload = () => {
    making.hidden = true;
    frame.contentWindow.scrollTo(0, place);
  };
  // The same element, so that nothing flickers but what has changed.
  inner.location.replace("report");
}

function showJobs(run) {
  jobs.replaceChildren();
  for (const job of run.jobs) {
    const row = jobs.insertRow();
    cell(row, job.purpose, "text");
    cell(row, job.round);
    cell(row, job.state, "text");
    cell(row, count(job.shots));
    cell(row, duration(job.seconds));
    cell(row, duration(job.qpu_seconds));
    cell(row, job.ticket, "text long");
  }
  const out = run.jobs.filter((job) => job.state === "sent" || job.state === "planned").length;
  const queue = run.queue_seconds ? `, ${duration(run.queue_seconds)} of queueing quoted` : "";
  document.getElementById("jobs-summary").textContent =
    `Jobs: ${out} out, ${run.jobs.length - out} ended${queue}`;
}

keepAsking(
  "status.json",
  (run) => {
    document.getElementById("state").textContent = run.state;
    document.getElementById("words").textContent = run.words;
    showJobs(run);
    if (run.version !== shown) {
      reload();
      shown = run.version;
    }
  },
  () => { document.getElementById("state").textContent = "the server has ended"; },
);
