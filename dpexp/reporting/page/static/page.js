"use strict";
/* What the page does by itself: colours, copy buttons, filters of claims, and the explorer of results.
   Words of the results reach the page by textContent alone, never as markup. */

const byId = (id) => document.getElementById(id);

function make(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key.startsWith("aria-") || key.startsWith("data-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

/* --- light and dark */

const changed = [];
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function paint() {
  const wanted = byId("theme").value;
  if (wanted) document.documentElement.dataset.theme = wanted;
  else delete document.documentElement.dataset.theme;
  for (const redraw of changed) redraw();
}
{
  const theme = byId("theme");
  try { theme.value = localStorage.getItem("dpexp-theme") || ""; } catch { /* a page from a file may keep nothing */ }
  theme.addEventListener("change", () => {
    try { localStorage.setItem("dpexp-theme", theme.value); } catch { /* as above */ }
    paint();
  });
  dark.addEventListener("change", paint);
  paint();
}
/* The canvas of a chart knows no variables: this is what one is now. */
function colour(words) {
  const probe = make("span");
  probe.style.color = words;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/* --- copy buttons, and cards that a link points into */

document.addEventListener("click", async (event) => {
  const button = event.target.closest ? event.target.closest("button.copy") : null;
  if (!button) return;
  const shown = button.parentElement.querySelector("pre");
  let done = true;
  try { await navigator.clipboard.writeText(shown.textContent); }
  catch {
    const range = document.createRange();
    range.selectNodeContents(shown);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    done = document.execCommand("copy");
  }
  button.textContent = done ? "Copied" : "Selected";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});
function unfold() {
  let place = null;
  try { place = byId(decodeURIComponent(location.hash.slice(1))); } catch { /* no name of ours */ }
  const card = place && place.closest("details");
  if (card) { card.open = true; place.scrollIntoView(); }
}
/* What was chosen stands in the address, `#view:name=value&...`, so that a link opens the page as it was left. */
const VIEW = "#view:", recalled = [];
const asked = () => new URLSearchParams(location.hash.startsWith(VIEW) ? location.hash.slice(VIEW.length) : "");
let view = asked();
function remember(chosen) {
  for (const [name, value] of Object.entries(chosen)) value === "" ? view.delete(name) : view.set(name, value);
  const words = view.toString();
  if (words || location.hash.startsWith(VIEW)) history.replaceState(null, "", words ? VIEW + words : "#");
}
addEventListener("hashchange", () => {
  unfold();
  if (location.hash.startsWith(VIEW)) { view = asked(); for (const recall of recalled) recall(); }
});
unfold();

/* --- claims */

if (byId("claims-filters")) {
  const cards = [...document.querySelectorAll("#claims-list > .claim")];
  const words = cards.map((card) => card.textContent.toLowerCase());
  const filter = () => {
    const paper = byId("claims-paper").value, verdict = byId("claims-verdict").value;
    const asked = byId("claims-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    cards.forEach((card, k) => {
      const fits = (!paper || card.dataset.paper === paper) && (!verdict || card.dataset.verdict === verdict)
        && asked.every((word) => words[k].includes(word));
      card.hidden = !fits;
      shown += fits;
    });
    remember({ paper, verdict, search: byId("claims-search").value });
    byId("claims-none").hidden = shown > 0;
    byId("claims-count").textContent = shown === cards.length ? `${shown} claims` : `${shown} of ${cards.length} claims`;
  };
  const form = byId("claims-filters");
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  const recall = () => {
    for (const name of ["paper", "verdict", "search"]) byId(`claims-${name}`).value = view.get(name) || "";
    filter();
  };
  recalled.push(recall);
  if (["paper", "verdict", "search"].some((name) => view.get(name))) recall();
}

/* --- explorer: numbers */

/* Three bytes of a float32 each, see reporting/page/curves.py. */
function unpacked(text) {
  const bytes = atob(text), count = bytes.length / 3, view = new DataView(new ArrayBuffer(4));
  const found = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    view.setUint32(0, ((bytes.charCodeAt(3 * k) << 24) | (bytes.charCodeAt(3 * k + 1) << 16) | (bytes.charCodeAt(3 * k + 2) << 8)) >>> 0);
    found[k] = view.getFloat32(0);
  }
  return found;
}
const number = (value) => {
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "-infinite";
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e5 || size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
};
const whole = (value) => Number.isInteger(value) ? value.toLocaleString("en-US") : number(value);

/* --- explorer: controls */

const COLOURS = 8, MOST_DOTS = 60;
const DASHES = [[], [8, 4], [2, 4], [10, 4, 2, 4]];
const STEP = "step", DOTS = "dots";

function explorer(root, names) {
  const documents = new Map();
  const open = (k) => {
    if (!documents.has(k)) documents.set(k, JSON.parse(byId(`curves-${k}`).textContent));
    return documents.get(k);
  };
  let doc = null, chart = null, drawn = null;

  const choose = (label, id) => {
    const select = make("select", { id });
    return [make("label", { className: "field" }, label, select), select];
  };
  const tick = (label, checked) => {
    const box = make("input", { type: "checkbox", checked });
    return [make("label", {}, box, label), box];
  };
  const [experimentField, experiment] = choose("Experiment", "explore-experiment");
  names.forEach((name, k) => experiment.append(make("option", { value: k }, name)));
  const [metricField, metric] = choose("Quantity", "explore-metric");
  const [axisField, axis] = choose("Horizontal axis", "explore-axis");
  const [logXField, logX] = tick("logarithmic horizontal axis", true);
  const [logYField, logY] = tick("logarithmic vertical axis", true);
  const [bandField, band] = tick("band", true);
  logX.id = "explore-log-x"; logY.id = "explore-log-y"; band.id = "explore-band";
  const looks = make("fieldset", {}, make("legend", {}, "Scales and band"), logXField, logYField, bandField);
  const settings = make("div", { className: "controls", id: "explore-settings" });
  const note = make("p", { className: "note", id: "explore-note" });
  const upright = make("p", { id: "explore-vertical" });
  const place = make("div", { id: "chart" });
  const tip = make("div", { id: "tip", hidden: true });
  const slider = make("input", { type: "range", id: "explore-at", min: 0, step: 1 });
  const at = make("output", { id: "explore-where" });
  const sliderField = make("label", { className: "field at", for: "explore-at" }, make("span", {}, "Values at ", at), slider);
  const head = make("tr");
  const body = make("tbody", { id: "explore-values" });
  const values = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Values at the chosen place" },
    make("table", {}, make("thead", {}, head), body));
  root.append(
    make("div", { className: "controls" }, experimentField, metricField, axisField, looks), settings, note, upright, place, sliderField, values,
  );

  const axisName = (name) => (doc.factors.find((factor) => factor.name === name) || {}).label || name;
  const boxes = () => doc.factors.map((_, k) => new Set([...settings.querySelectorAll(`input[data-factor="${k}"]:checked`)].map((box) => Number(box.value))));
  const estimators = () => new Set([...settings.querySelectorAll("input[data-estimator]:checked")].map((box) => Number(box.value)));

  function load(k) {
    doc = open(k);
    metric.replaceChildren(...doc.metrics.map((one, m) => make("option", { value: m }, one.words === one.name ? one.name : `${one.words} (${one.name})`)));
    const steps = Math.max(...doc.steps.map((found) => found.length));
    const axes = [];
    if (steps > 1) axes.push([STEP, "steps"]);
    doc.factors.forEach((factor) => { if (factor.numbers) axes.push([factor.name, `${factor.label}, at the last step`]); });
    axes.push([DOTS, "settings one by one, at the last step"]);
    axis.replaceChildren(...axes.map(([value, label]) => make("option", { value }, label)));
    axis.value = axes.some(([value]) => value === doc.x) ? doc.x : axes[0][0];
    logY.checked = doc.metrics[0].log;
    fill();
    draw();
  }

  function fill() {
    settings.replaceChildren();
    const group = (title, items, attribute, checked) => {
      const set = make("fieldset", {}, make("legend", {}, title));
      items.forEach((label, value) => {
        const [field, box] = tick(label, checked(value));
        box.value = value;
        box.setAttribute(attribute[0], attribute[1]);
        set.append(field);
      });
      settings.append(set);
    };
    if (doc.estimators.length > 1) group("estimator", doc.estimators.map((one) => one.label), ["data-estimator", ""], (value) => axis.value === DOTS || value === 0 || doc.estimators.length < 3);
    doc.factors.forEach((factor, k) => group(factor.label, factor.levels, ["data-factor", k], (value) => doc.checked[k].includes(value)));
  }

  /* --- explorer: which numbers stand where */

  /* A cell's levels in words, without the factor that is the axis; of constant ones nothing is said. */
  function label(cell, without) {
    const words = doc.factors.map((factor, k) => factor.name === without || factor.levels[doc.cells[cell][k]] === "none" ? "" : `${factor.name}=${factor.levels[doc.cells[cell][k]]}`);
    return words.filter(Boolean).join(" ") || doc.name;
  }

  /* Lines of points {x, mean, low, high, n, wild, cell}, in the order of the table. */
  function lines() {
    const name = doc.metrics[Number(metric.value)].name, by = axis.value;
    const factor = doc.factors.findIndex((one) => one.name === by);
    const kept = boxes(), own = doc.estimators.length > 1 ? estimators() : new Set([0]);
    const chosen = new Set();
    doc.cells.forEach((levels, cell) => {
      if (levels.every((level, k) => k === factor || kept[k].has(level))) chosen.add(cell);
    });
    const found = new Map();
    for (const one of doc.series[name]) {
      if (!chosen.has(one.c) || !own.has(one.e)) continue;
      const numbers = unpacked(one.v), steps = doc.steps[one.s], last = steps.length - 1;
      const point = (k, x) => ({ x, mean: numbers[3 * k], low: numbers[3 * k + 1], high: numbers[3 * k + 2], n: one.n, wild: one.w ? one.w[k] : 0, cell: one.c, step: steps[k] });
      const title = label(one.c, by);
      const key = by === DOTS ? `${one.e}` : factor >= 0 ? `${one.e} ${title}` : `${one.e} ${one.c}`;
      if (!found.has(key)) found.set(key, { e: one.e, title: by === DOTS ? "" : title, points: [] });
      const line = found.get(key);
      if (by === STEP) steps.forEach((step, k) => line.points.push(point(k, step)));
      else if (by === DOTS) line.points.push(point(last, one.c));
      else line.points.push(point(last, doc.factors[factor].numbers[doc.cells[one.c][factor]] ?? Infinity));
    }
    const all = [...found.values()];
    all.forEach((line) => line.points.sort((a, b) => a.x - b.x));
    return all;
  }

  function looksOf(all) {
    const titles = [...new Set(all.map((line) => line.title))];
    const shown = titles.slice(0, COLOURS);
    const own = (number) => `var(--s${number % COLOURS})`;
    /* Colours are those of the figures where these tell one factor apart; what shares a colour has another dash. */
    const hue = axis.value !== DOTS && doc.hue && doc.factors[doc.hue.factor].name !== axis.value ? doc.hue : null;
    const level = (line) => doc.cells[line.points[0].cell][hue.factor];
    const alike = new Map();
    if (hue) for (const line of all) {
      const same = alike.get(level(line)) || [];
      alike.set(level(line), same.includes(line.title) ? same : [...same, line.title]);
    }
    return [all.filter((line) => shown.includes(line.title)).map((line) => ({
      ...line,
      colour: hue ? hue.colours[level(line)] : own(axis.value === DOTS ? line.e : shown.indexOf(line.title)),
      dash: ((hue ? alike.get(level(line)).indexOf(line.title) * doc.estimators.length : 0) + line.e) % DASHES.length,
    })), titles.length];
  }

  /* --- explorer: the chart */

  function draw() {
    if (!doc) return;
    if (chart) chart.destroy();
    chart = null;
    const shownMetric = doc.metrics[Number(metric.value)];
    const unit = shownMetric.unit ? ` [${shownMetric.unit}]` : "";
    let [all, settingsChosen] = looksOf(lines());
    const by = axis.value;
    if (by === DOTS) {
      const cells = [...new Set(all.flatMap((line) => line.points.map((point) => point.cell)))].sort((a, b) => a - b);
      settingsChosen = cells.length;
      const rank = new Map(cells.slice(0, MOST_DOTS).map((cell, k) => [cell, k + 1]));
      all = all.map((line) => ({ ...line, points: line.points.filter((point) => rank.has(point.cell)).map((point) => ({ ...point, x: rank.get(point.cell) })) }));
    }
    const far = all.flatMap((line) => line.points).filter((point) => !Number.isFinite(point.x)).length;
    const xs = [...new Set(all.flatMap((line) => line.points.map((point) => point.x)))].filter(Number.isFinite).sort((a, b) => a - b);
    drawn = { all, xs, by };
    const words = [];
    const limit = by === DOTS ? MOST_DOTS : COLOURS;
    if (settingsChosen === 0) words.push("No stored setting has these values and this quantity: choose others.");
    else if (settingsChosen > limit) words.push(`Shown are the first ${limit} of the ${settingsChosen} settings that are chosen: choose fewer to see others.`);
    const intervals = by === STEP ? "Band" : "Bars";
    words.push(`Mean over replicates. ${intervals}: ${doc.band}.`);
    if (doc.implied.length) words.push(`Varies with the settings: ${doc.implied.join(", ")}.`);
    const wild = all.flatMap((line) => line.points).some((point) => point.wild);
    if (wild) words.push("Replicates diverged: the table counts them, and no mean is taken over survivors.");
    if (far) words.push(`${far} values belong to an infinite ${by}, which no axis shows: they stand in the table of settings one by one.`);
    note.textContent = words.join(" ");
    place.replaceChildren(tip);
    upright.textContent = `Vertical: ${shownMetric.words}${unit}${by === STEP ? "" : ", at the last step"}`;
    tip.hidden = true;
    const positive = xs.length > 0 && xs[0] > 0;
    const logarithmic = logX.checked && positive && by !== DOTS && xs.length > 1;
    logX.disabled = by === DOTS || !positive;
    const columns = [xs], series = [{}], bands = [];
    const ink = colour("var(--ink)"), edge = colour("var(--edge)"), quiet = colour("var(--quiet)");
    const seen = (value) => Number.isFinite(value) && (!logY.checked || value > 0) ? value : null;
    all.forEach((line) => {
      const found = new Map(line.points.map((point) => [point.x, point]));
      const points = xs.map((x) => found.get(x) || null);
      const mean = points.map((point) => point && seen(point.mean));
      const stroke = colour(line.colour);
      const bare = by === DOTS || line.points.length === 1;
      line.at = points;
      line.row = null;
      series.push({
        label: line.title, stroke, width: bare ? 0 : 2, dash: DASHES[line.dash], spanGaps: by !== STEP,
        points: { show: by !== STEP || line.points.length < 8, size: 8, fill: line.dash ? colour("var(--paper)") : stroke, stroke, width: 2 },
      });
      columns.push(mean);
      if (band.checked && by === STEP) {
        const high = points.map((point, k) => point && mean[k] !== null ? seen(point.high) : null);
        const low = points.map((point, k) => point && mean[k] !== null ? seen(logY.checked ? Math.max(point.low, mean[k] / 10) : point.low) : null);
        const quietly = { stroke: "transparent", width: 0, points: { show: false } };
        series.push({ ...quietly }, { ...quietly });
        columns.push(high, low);
        bands.push({ series: [series.length - 2, series.length - 1], fill: stroke.replace("rgb(", "rgba(").replace(")", ", 0.2)") });
      }
    });
    /* Where lines cross the chart: decades of a logarithmic axis, or a few more where it has less than two of them; the
       values of a setting themselves, as far as there is room for their names. */
    const logarithms = (u, _, low, high) => {
      const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), found = [];
      const inside = (value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
      for (let power = first; power <= last; power++) found.push(Number(`1e${power}`));
      const powers = found.filter(inside);
      if (powers.length > 1) return powers.filter((_, k) => k % Math.ceil(powers.length / 9) === 0);
      for (const steps of [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]]) {
        const fine = found.flatMap((power) => steps.map((step) => Number((step * power).toPrecision(3)))).filter(inside);
        if (fine.length > 2 || steps.length > 3) return fine.length > 1 ? fine : [low, high].map((value) => Number(value.toPrecision(3)));
      }
      return powers;
    };
    const own = (u) => {
      const found = [];
      for (const x of xs) if (!found.length || u.valToPos(x, "x") - u.valToPos(found[found.length - 1], "x") > 36) found.push(x);
      return found;
    };
    const axes = (splits, more) => ({
      stroke: ink, font: "12px system-ui, sans-serif", grid: { stroke: edge, width: 1 },
      ticks: { stroke: quiet, width: 1, size: 5 }, filter: (u, found) => found,
      values: (u, found) => found.map((value) => value === null ? "" : short(value)), ...(splits ? { splits } : {}), ...more,
    });
    const room = (u, low, high) => {
      const margin = logarithmic ? 0 : Math.max((high - low) * 0.04, by === DOTS ? 0.6 : 0) || 0.5;
      return logarithmic ? (high > low ? [low / (high / low) ** 0.02, high * (high / low) ** 0.02] : [low / 2, high * 2]) : [low - margin, high + margin];
    };
    const tall = (u, low, high) => {
      if (low === null) return logY.checked ? [0.1, 1] : [0, 1];
      if (logY.checked) { const spread = Math.max((high / low) ** 0.05, 1.05); return [low / spread, high * spread]; }
      const margin = (high - low) * 0.06 || Math.abs(high) * 0.05 || 0.5;
      return [low - margin, high + margin];
    };
    if (xs.length) {
      const bars = { hooks: { draw: [(u) => by !== STEP && band.checked && whiskers(u, all, logY.checked)] } };
      chart = new uPlot({
        width: place.clientWidth, height: Math.min(480, Math.max(320, place.clientWidth * 0.55)), series, bands,
        legend: { show: false }, plugins: [bars],
        cursor: { drag: { setScale: false, x: false, y: false }, points: { size: 9 } },
        scales: {
          x: { time: false, distr: logarithmic ? 3 : 1, range: room },
          y: { distr: logY.checked ? 3 : 1, range: tall },
        },
        axes: [
          axes(by === STEP ? (logarithmic ? logarithms : null) : by === DOTS ? null : own, {
            label: by === STEP ? "steps" : by === DOTS ? "setting, by its number in the table" : axisName(by),
            labelFont: "14px system-ui, sans-serif", labelSize: 22, labelGap: 0, size: 32,
          }),
          axes(logY.checked ? logarithms : null, { size: 52 }),
        ],
        hooks: {
          setCursor: [(u) => {
            if (u.cursor.idx === null || u.cursor.left < 0) { tip.hidden = true; return; }
            drawn.nearest = nearest(u, u.cursor.idx);
            show(u.cursor.idx, u);
          }],
        },
      }, columns, place);
    }
    table();
    slider.max = Math.max(xs.length - 1, 0);
    slider.disabled = xs.length < 2;
    slider.value = slider.max;
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `Chart of ${shownMetric.words} of ${doc.name}: ${all.length} lines. The table below has its values.`);
    show(xs.length - 1, null);
  }

  const isPower = (value) => value > 0 && Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
  const short = (value) => {
    const size = Math.abs(value);
    if (size >= 1e5 || (size > 0 && size < 1e-2) || (size >= 1e3 && isPower(size))) {
      const [digits, power] = value.toExponential().split("e");
      const exponent = Number(power);
      const raised = String(exponent).replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] || "⁻");
      return (digits === "1" ? "" : `${Number(Number(digits).toFixed(2))}×`) + `10${raised}`;
    }
    return String(Number(value.toPrecision(4)));
  };

  /* Intervals of single points: a line from end to end. */
  function whiskers(u, all, log) {
    const context = u.ctx;
    context.save();
    context.lineWidth = 1.5 * devicePixelRatio;
    for (const line of all) {
      context.strokeStyle = colour(line.colour);
      for (const point of line.points) {
        if (![point.x, point.mean, point.low, point.high].every(Number.isFinite) || (log && point.mean <= 0)) continue;
        const low = log ? Math.max(point.low, point.mean / 10) : point.low;
        const x = u.valToPos(point.x, "x", true);
        context.beginPath();
        context.moveTo(x, u.valToPos(low, "y", true));
        context.lineTo(x, u.valToPos(point.high, "y", true));
        context.stroke();
      }
    }
    context.restore();
  }

  /* --- explorer: values under the pointer */

  function key(line) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "key");
    svg.setAttribute("viewBox", "0 0 34 12");
    svg.setAttribute("aria-hidden", "true");
    const dots = drawn.by === DOTS;
    const stroke = document.createElementNS(svg.namespaceURI, dots ? "circle" : "line");
    const look = dots ? { cx: 17, cy: 6, r: 4, "stroke-width": 2, fill: "none" }
      : { x1: 1, x2: 33, y1: 6, y2: 6, "stroke-width": 3, "stroke-dasharray": DASHES[line.dash].join(" ") || "none" };
    for (const [name, value] of Object.entries(look)) stroke.setAttribute(name, value);
    stroke.style.stroke = line.colour;
    if (dots && !line.dash) stroke.style.fill = line.colour;
    svg.append(stroke);
    return svg;
  }

  function table() {
    const dots = drawn.by === DOTS;
    const several = doc.estimators.length > 1;
    head.replaceChildren(...["line", ...(dots ? ["number"] : []), "setting", ...(several ? ["estimator"] : []), "mean", "interval", "replicates"].map((words) => make("th", { scope: "col" }, words)));
    body.replaceChildren();
    const row = (line, title, number) => {
      const cells = { mean: make("td"), interval: make("td"), n: make("td") };
      const parts = [make("td", {}, key(line)), ...(dots ? [make("td", {}, String(number))] : []), make("td", {}, title)];
      if (several) parts.push(make("td", {}, doc.estimators[line.e].label));
      cells.row = make("tr", {}, ...parts, cells.mean, cells.interval, cells.n);
      [...cells.row.children].forEach((cell, k) => { cell.dataset.name = head.children[k].textContent; });
      body.append(cells.row);
      return cells;
    };
    for (const line of drawn.all) {
      if (dots) line.rows = line.points.map((point) => { const cells = row(line, label(point.cell, ""), point.x); put(cells, point); return cells; });
      else line.cells = row(line, line.title, 0);
    }
  }

  function put(cells, point) {
    cells.mean.textContent = point ? number(point.mean) : "-";
    cells.interval.textContent = point && Number.isFinite(point.low) ? `${number(point.low)} to ${number(point.high)}` : "-";
    cells.n.textContent = point ? `${point.n.toLocaleString("en-US")}${point.wild ? `, ${point.wild} diverged` : ""}` : "-";
  }

  /* The line that is nearest to the pointer at one place of the axis. */
  function nearest(u, k) {
    let found = null, least = Infinity;
    for (const line of drawn.all) {
      const mean = line.at[k] ? line.at[k].mean : NaN;
      const far = Number.isFinite(mean) && (!logY.checked || mean > 0) ? Math.abs(u.valToPos(mean, "y") - u.cursor.top) : Infinity;
      if (far < least) { least = far; found = line; }
    }
    return found;
  }

  /* Every line's values at one place of the axis; a dash where a line has no point there. */
  function show(k, u) {
    if (!drawn || k < 0) { at.textContent = "no place"; return; }
    const x = drawn.xs[k];
    at.textContent = drawn.by === STEP ? `step ${whole(x)}` : drawn.by === DOTS ? `setting ${x}` : `${drawn.by} = ${whole(x)}, last step`;
    if (u) slider.value = k;
    for (const line of drawn.all) {
      if (drawn.by !== DOTS) put(line.cells, line.at[k]);
      const near = u !== null && drawn.nearest === line;
      if (line.cells) line.cells.row.classList.toggle("nearest", near);
    }
    const near = u && drawn.nearest, point = near && near.at[k];
    tip.hidden = !point;
    if (!point) return;
    const title = [label(point.cell, ""), doc.estimators.length > 1 ? doc.estimators[near.e].label : ""].filter(Boolean).join(", ");
    const spread = Number.isFinite(point.low) ? `${number(point.low)} to ${number(point.high)}` : "no interval";
    tip.replaceChildren(make("strong", {}, title), `step ${whole(point.step)}: ${number(point.mean)}`, make("br"), spread);
    const left = u.over.offsetLeft + u.cursor.left, width = place.clientWidth;
    tip.style.left = `${Math.max(0, left > width / 2 ? left - tip.offsetWidth - 14 : Math.min(left + 14, width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, u.cursor.top + 14)}px`;
  }

  experiment.addEventListener("change", () => load(Number(experiment.value)));
  metric.addEventListener("change", () => { logY.checked = doc.metrics[Number(metric.value)].log; draw(); });
  axis.addEventListener("change", draw);
  for (const control of [logX, logY, band]) control.addEventListener("change", draw);
  settings.addEventListener("change", draw);
  slider.addEventListener("input", () => {
    const k = Number(slider.value);
    if (chart) {
      const line = drawn.all.find((one) => one.at[k]);
      drawn.nearest = null;
      chart.setCursor({ left: chart.valToPos(drawn.xs[k], "x"), top: line ? chart.valToPos(line.at[k].mean, "y") : 10 }, false);
    }
    show(k, null);
  });
  new ResizeObserver(() => { if (chart && Math.abs(chart.width - place.clientWidth) > 1) chart.setSize({ width: place.clientWidth, height: chart.height }); }).observe(place);
  changed.push(draw);
  /* The view of the explorer in the address; nothing is written there before somebody chooses. */
  const ticked = (attribute) => [...settings.querySelectorAll(`input[${attribute}]:checked`)].map((box) => `${box.dataset.factor ?? "e"}.${box.value}`);
  root.addEventListener("change", (event) => {
    if (event.target === slider) return;
    remember({ experiment: doc.name, metric: doc.metrics[Number(metric.value)].name, x: axis.value,
      scales: [logX, logY, band].map((box) => Number(box.checked)).join(""), shown: [...ticked("data-factor"), ...ticked("data-estimator")].join(" ") });
  });
  const recall = () => {
    const k = names.indexOf(view.get("experiment"));
    if (k < 0) return;
    experiment.value = k;
    load(k);
    const m = doc.metrics.findIndex((one) => one.name === view.get("metric"));
    if (m >= 0) metric.value = m;
    if ([...axis.options].some((option) => option.value === view.get("x"))) axis.value = view.get("x");
    const scales = view.get("scales") || "";
    if (scales.length === 3) [logX, logY, band].forEach((box, n) => { box.checked = scales[n] === "1"; });
    const shown = view.get("shown");
    if (shown !== null) for (const box of settings.querySelectorAll("input")) box.checked = shown.split(" ").includes(`${box.dataset.factor ?? "e"}.${box.value}`);
    draw();
    root.scrollIntoView();
  };
  recalled.push(recall);
  load(0);
  recall();
}
if (byId("explorer")) explorer(byId("explorer"), JSON.parse(byId("curves").textContent));
