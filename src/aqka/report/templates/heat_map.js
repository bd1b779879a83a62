"use strict";
(() => {
  const source = document.getElementById("pairs");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const tip = document.getElementById("tip");

  const unpack = (packed) => {
    const text = atob(packed.base64);
    const bytes = new Uint8Array(text.length);
    for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
    const types = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array, f8: Float64Array };
    return new types[packed.type](bytes.buffer);
  };
  const unpackIfAny = (packed) => (packed ? unpack(packed) : null);
  // Pairs have shots and hits, points the kernel itself, with its errors where they are known.
  const shots = unpackIfAny(data.shots);
  const hits = unpackIfAny(data.hits);
  const kernel = unpackIfAny(data.kernel);
  const errors = unpackIfAny(data.errors);
  const sensitivity = unpackIfAny(data.sensitivity);
  const estimate = kernel
    ? (k) => kernel[k]
    : (k) => (shots[k] ? hits[k] / shots[k] : NaN);
  const size = Math.ceil(data.points / data.step);
  // The lower triangle by rows.
  const place = (i, j) => (i >= j ? (i * (i + 1)) / 2 + j : (j * (j + 1)) / 2 + i);

  const stops = data.colours;
  const colour = (value) => {
    const at = Math.min(Math.max(value, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((low, channel) => low + (at - k) * (stops[k + 1][channel] - low));
  };
  const short = (value) => value.toLocaleString("en-GB", { maximumSignificantDigits: 3 });

  let fewestShots = Infinity, mostShots = 1; // of the measured pairs
  for (const count of shots || []) {
    if (count > mostShots) mostShots = count;
    if (count > 0 && count < fewestShots) fewestShots = count;
  }
  fewestShots = Math.min(fewestShots, mostShots);
  const spread = Math.log(mostShots / fewestShots) || 1;
  const least = 1e-3; // of the largest sensitivity: the low end of the logarithmic scale
  const panels = {
    shots: {
      value: (k) => (shots[k] ? Math.log(shots[k] / fewestShots) / spread : NaN),
      low: short(fewestShots), high: short(mostShots) + " (log)",
    },
    kernel: {
      value: estimate,
      low: "0", high: "1",
    },
    sensitivity: {
      value: (k) => 1 + Math.log10(Math.max(sensitivity[k], least)) / -Math.log10(least),
      low: "≤ 0.001", high: "1, the largest (log)",
    },
  };

  const chosen = new Map(); // the pair last shown on each map
  let current = null; // the map that the tooltip belongs to
  const known = (i, j) => i === j && data.step === 1 && data.diagonal === "known";

  for (const [name, panel] of Object.entries(panels)) {
    const canvas = document.getElementById("map-" + name);
    if (!canvas) continue;
    canvas.width = canvas.height = size;
    const context = canvas.getContext("2d");
    const image = context.createImageData(size, size);
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < size; j++) {
        const at = 4 * (i * size + j);
        let value = panel.value(place(i, j));
        if (known(i, j)) value = name === "kernel" ? 1 : NaN;
        if (Number.isNaN(value)) continue; // not measured: the page shows through
        const [red, green, blue] = colour(value);
        image.data.set([red, green, blue, 255], at);
      }
    }
    context.putImageData(image, 0, 0);
    document.getElementById("low-" + name).textContent = panel.low;
    document.getElementById("high-" + name).textContent = panel.high;
    canvas.addEventListener("pointermove", (event) => point(canvas, event));
    canvas.addEventListener("pointerdown", (event) => point(canvas, event));
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") hide(); // a finger leaves as soon as it is lifted
    });
    canvas.addEventListener("keydown", (event) => move(canvas, event));
    canvas.addEventListener("blur", () => {
      if (current === canvas) hide();
    });
  }

  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("canvas")) hide();
  });

  function hide() {
    tip.hidden = true;
  }

  function point(canvas, event) {
    const box = canvas.getBoundingClientRect();
    const cell = (offset, length) =>
      Math.min(size - 1, Math.max(0, Math.floor((offset / length) * size)));
    show(canvas, cell(event.clientY - box.top, box.height), cell(event.clientX - box.left, box.width));
  }

  function move(canvas, event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key === "Escape") hide();
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [i, j] = chosen.get(canvas) || [0, 0];
    const [down, right] = steps[event.key];
    const inside = (k) => Math.min(size - 1, Math.max(0, k));
    show(canvas, inside(i + down), inside(j + right));
  }

  function nameOf(k) {
    if (data.step > 1) {
      return "points " + k * data.step + " to " + (Math.min((k + 1) * data.step, data.points) - 1) +
        " by class";
    }
    return data.ids[k] + (data.labels.length ? " (" + data.labels[k] + ")" : "");
  }

  function describe(i, j) {
    const k = place(i, j);
    const lines = [nameOf(i) + " × " + nameOf(j)];
    if (known(i, j)) return [...lines, "K = 1, known without a shot"];
    if (kernel) {
      lines.push("K̂ = " + kernel[k].toFixed(3) + (errors ? " ± " + errors[k].toFixed(3) : ""));
    } else if (!shots[k]) {
      lines.push("not measured");
    } else {
      // Half a hit and half a miss more, so that 0 of 3 does not claim certainty.
      const trials = shots[k] / data.spread; // hits or misses that tell as much
      const smooth = (hits[k] / data.spread + 0.5) / (trials + 1);
      const error = Math.sqrt((smooth * (1 - smooth)) / trials);
      lines.push(shots[k].toLocaleString("en-GB") + " shots, " + hits[k].toLocaleString("en-GB") +
        " hits", "K̂ = " + estimate(k).toFixed(3) + " ± " + error.toFixed(3));
    }
    if (sensitivity) lines.push("sensitivity " + short(sensitivity[k]) + " of the largest");
    return lines;
  }

  function show(canvas, i, j) {
    chosen.set(canvas, [i, j]);
    current = canvas;
    tip.replaceChildren(...describe(i, j).map((line) => {
      const row = document.createElement("div");
      row.textContent = line; // text, never markup
      return row;
    }));
    tip.hidden = false;
    const box = canvas.getBoundingClientRect();
    const width = tip.offsetWidth, height = tip.offsetHeight;
    let left = box.left + ((j + 0.5) / size) * box.width + 12;
    let top = box.top + ((i + 0.5) / size) * box.height + 12;
    if (left + width > document.documentElement.clientWidth - 4) left -= width + 24;
    if (top + height > window.innerHeight - 4) top -= height + 24;
    tip.style.left = window.scrollX + Math.max(4, left) + "px";
    tip.style.top = window.scrollY + Math.max(4, top) + "px";
  }
})();
