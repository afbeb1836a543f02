// What a reader touches: sliders, planes, and the pictures around a code. Each belongs to one run and tells the explorer.

const STEPS = 7;
const LEAST = 0.1; // nats below which a latent is folded away
const CLASSES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a8a", "#b8a800"];
const RAMP = [[104, 92, 190], [43, 123, 191], [32, 158, 136], [122, 190, 66], [240, 190, 32]];

const byId = (id) => document.getElementById(id);
const shortened = (value) => (Number.isInteger(value) ? String(value) : shown(value));
const shown = (value) => value.toFixed(2).replace("-", "\u2212");

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Colours of the theme, all at once: each question makes the browser compute styles.
function coloursOf(...names) {
  const style = getComputedStyle(document.documentElement);
  return names.map((name) => style.getPropertyValue(name).trim());
}

// The colour of a value; none if it is not known.
function tintOf(value, classes) {
  if (!Number.isFinite(value)) return null;
  const share = Math.min(1, Math.max(0, value));
  if (classes) return CLASSES[Math.round(share * (classes - 1)) % CLASSES.length];
  const place = share * (RAMP.length - 1), k = Math.min(RAMP.length - 2, Math.floor(place));
  const mixed = RAMP[k].map((value, c) => Math.round(value + (place - k) * (RAMP[k + 1][c] - value)));
  return `rgb(${mixed.join(",")})`;
}

function panel(app, run) {
  const title = app.runs.length > 1 ? [element("h3", {}, run.label)] : [];
  return element("div", { class: "run" }, ...title);
}

// The latents of a run that are shown at once, and those that are folded away.
function sorted(run) {
  const holds = (j, rank) => (run.latents[j].kl === null ? rank < 10 : run.latents[j].kl >= LEAST || rank < 2);
  return [run.order.filter(holds), run.order.filter((j, rank) => !holds(j, rank))];
}

class Sliders {
  constructor(app, run) {
    this.app = app;
    this.run = run;
    this.rows = new Map();
    this.most = Math.max(...run.latents.map((latent) => latent.kl || 0), 1);
    const [first, rest] = sorted(run);
    this.element = panel(app, run);
    this.element.append(...first.map((j) => this.row(j)));
    if (rest.length) {
      const what = run.latents[0].kl === null ? "more" : `that hold${rest.length > 1 ? "" : "s"} less than ${LEAST} nats`;
      const told = `${rest.length} latent${rest.length > 1 ? "s" : ""} ${what}`;
      this.folded = element("details", {}, element("summary", {}, told), ...rest.map((j) => this.row(j)));
      this.element.append(this.folded);
    }
  }

  row(j) {
    const { run } = this, { kl, values, suggestion } = run.latents[j], [low, high] = run.bounds(j);
    const id = `latent-${run.index}-${j}`, rank = run.order.indexOf(j) + 1;
    const step = (high - low) / (values ? values.length - 1 || 1 : 100) || "any";
    const input = element("input", { type: "range", id, min: low, max: high, step });
    input.addEventListener("input", () => this.app.move(run, j, Number(input.value)));
    const value = element("output", { for: id });
    const name = [element("b", {}, run.latents[j].name), ...(suggestion ? [element("i", {}, ` perhaps ${suggestion}`)] : [])];
    const held = element("span", { class: "held", title: run.measure }, kl === null ? "" : `${kl.toFixed(2)} nats`);
    const bar = element("span", { class: kl === null ? "" : "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", kl === null ? 0 : Math.max(0, kl) / this.most);
    const label = element("label", { for: id }, rank < 10 ? element("kbd", {}, String(rank)) : "", " ", ...name, bar, held);
    this.rows.set(j, { input, value, low, high });
    return element("div", { class: "slider" }, label, value, input);
  }

  show() {
    for (const [j, { input, value, low, high }] of this.rows) {
      const at = this.run.code[j];
      input.min = Math.min(low, at);
      input.max = Math.max(high, at);
      input.value = at;
      value.textContent = shown(at);
      input.setAttribute("aria-valuetext", shown(at));
    }
  }

  focus(rank) {
    const j = this.run.order[rank];
    if (j === undefined) return;
    if (this.folded?.contains(this.rows.get(j).input)) this.folded.open = true;
    this.rows.get(j).input.focus();
  }
}

class Plane {
  constructor(app, run) {
    this.app = app;
    this.run = run;
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "plane to walk on" });
    this.element = panel(app, run);
    this.element.append(this.canvas);
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.held = true;
      this.goTo(event);
    });
    canvas.addEventListener("pointermove", (event) => this.held && this.goTo(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.held = false));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  get axes() {
    return this.app.state.axes.map((rank) => this.run.order[rank]);
  }

  bounds() {
    return this.axes.map((j) => {
      const [low, high] = this.run.bounds(j), edge = 0.04 * (high - low);
      return [low - edge, high + edge];
    });
  }

  goTo(event) {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    const shares = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    const values = this.bounds().map(([low, high], k) => low + Math.min(1, Math.max(0, shares[k])) * (high - low));
    this.app.walk(this.run, this.axes, values);
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [across, up] = this.axes;
    const values = this.bounds().map(([low, high], k) => this.run.code[this.axes[k]] + (step[k] * (high - low)) / 50);
    this.app.walk(this.run, this.axes, values);
    this.app.say(`${this.run.nameOf(across)} ${shown(this.run.code[across])}, ${this.run.nameOf(up)} ${shown(this.run.code[up])}`);
  }

  draw() {
    const { canvas, run } = this, [across, up] = this.axes, bounds = this.bounds();
    const side = Math.max(60, canvas.clientWidth), sharp = window.devicePixelRatio || 1;
    const [line, soft, ground, ink] = coloursOf("--line", "--soft", "--ground", "--ink");
    canvas.width = canvas.height = Math.round(side * sharp);
    const pen = canvas.getContext("2d", { willReadFrequently: true }); // to wait for the GPU takes longer than to draw
    pen.scale(sharp, sharp);
    const place = (x, y) => [x, y].map((value, k) => {
      const share = (value - bounds[k][0]) / (bounds[k][1] - bounds[k][0]);
      return side * (k ? 1 - share : share);
    });
    pen.strokeStyle = line;
    const [zeroX, zeroY] = place(0, 0);
    pen.beginPath();
    pen.moveTo(zeroX, 0);
    pen.lineTo(zeroX, side);
    pen.moveTo(0, zeroY);
    pen.lineTo(side, zeroY);
    pen.stroke();
    this.dots(pen, place, across, up, soft);
    // A code beyond the plane, as of a picture unlike the data, stands at its edge.
    const [x, y] = place(run.code[across], run.code[up]).map((at) => Math.min(side - 9, Math.max(9, at)));
    pen.beginPath();
    pen.arc(x, y, 8, 0, 2 * Math.PI);
    pen.fillStyle = ground;
    pen.fill();
    pen.lineWidth = 3;
    pen.strokeStyle = ink;
    pen.stroke();
    pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
    pen.fillStyle = soft;
    pen.textAlign = "right";
    pen.fillText(`${run.nameOf(across)} \u2192`, side - 6, side - 7);
    pen.textAlign = "left";
    pen.fillText(`\u2191 ${run.nameOf(up)}`, 6, 16);
    const at = `at ${shown(run.code[across])}, ${shown(run.code[up])}`;
    canvas.setAttribute("aria-label", `${run.label}: plane of ${run.nameOf(across)} and ${run.nameOf(up)}, ${at}. Arrow keys move.`);
  }

  dots(pen, place, across, up, soft) {
    const { points, size } = this.run, tint = this.app.tints();
    if (!points) return;
    pen.globalAlpha = tint ? 0.75 : 0.35;
    for (let i = 0; i * size < points.length; i++) {
      const [x, y] = place(points[i * size + across], points[i * size + up]);
      pen.fillStyle = tint?.[i] || soft;
      pen.beginPath();
      pen.arc(x, y, 2.4, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }
}

// Rows of pictures, of which each varies one latent; drawn when they are in sight, a few at a time.
class Grid {
  constructor(app, run) {
    this.app = app;
    this.run = run;
    this.latents = sorted(run)[0].slice(0, 10);
    this.element = panel(app, run);
    this.cells = [];
    const grid = element("div", { class: "grid", role: "group", "aria-label": `Pictures around the code of ${run.label}` });
    for (const [row, j] of this.latents.entries()) {
      grid.append(element("span", { class: "row-name" }, run.nameOf(j)));
      for (let column = 0; column < STEPS; column++) grid.append(this.cell(j, row, column));
    }
    grid.addEventListener("keydown", (event) => this.key(event));
    this.element.append(grid);
    this.isSeen = false;
    new IntersectionObserver((entries) => {
      this.isSeen = entries.some((entry) => entry.isIntersecting);
      if (this.isSeen) app.work();
    }, { rootMargin: "200px" }).observe(grid);
  }

  value(j, column) {
    const { low, high } = this.run.latents[j];
    return low + (column / (STEPS - 1)) * (high - low);
  }

  cell(j, row, column) {
    const canvas = newCanvas(1, 1), value = this.value(j, column);
    const label = `${this.run.nameOf(j)} at ${shown(value)}`;
    const button = element("button", { type: "button", "aria-label": label, title: label, tabindex: row + column ? "-1" : "0" }, canvas);
    button.addEventListener("click", () => this.app.move(this.run, j, value));
    this.cells.push({ button, canvas, j, column, value });
    return button;
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -STEPS, ArrowDown: STEPS }[event.key];
    const from = this.cells.findIndex((cell) => cell.button === document.activeElement);
    const to = this.cells[from + step];
    if (!step || from < 0 || !to) return;
    event.preventDefault();
    this.cells[from].button.tabIndex = -1;
    to.button.tabIndex = 0;
    to.button.focus();
  }

  // What is left to draw after the code has changed, the middle columns first.
  jobs() {
    const { run } = this, code = Float32Array.from(run.code);
    for (const cell of this.cells) {
      const near = Math.abs(cell.value - code[cell.j]) <= (this.value(cell.j, 1) - this.value(cell.j, 0)) / 2;
      cell.button.classList.toggle("here", near);
    }
    const middle = (STEPS - 1) / 2;
    const inOrder = [...this.cells].sort((a, b) => Math.abs(a.column - middle) - Math.abs(b.column - middle));
    return inOrder.map((cell) => () => {
      const there = Float32Array.from(code);
      there[cell.j] = cell.value;
      draw(cell.canvas, run.model.decode(run.model.settle(there, cell.j), true));
    });
  }
}
