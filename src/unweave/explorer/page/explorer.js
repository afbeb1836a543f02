// The explorer: what is shown, and what happens when it is touched.

const REST = 140; // milliseconds after which a movement is over

class Explorer {
  constructor(facts, runs) {
    this.runs = runs;
    this.data = facts.data;
    this.turn = 0; // counts pictures: one that is still awaited when another is taken comes too late
    this.state = {
      runs, axes: [0, Math.min(1, ...runs.map((run) => run.size - 1))], tint: null, source: { link: "" },
      pins: { a: null, b: null }, between: 0, together: true,
      // Of two factors, data are a surface: beside it, two latents alone lead to where no data are.
      follow: facts.data?.factors?.names.length === 2 && runs.some((run) => run.points),
    };
    this.canEncode = runs.some((run) => run.model.canEncode);
    this.drawn = -1;
    this.queue = [];
    this.sliders = runs.map((run) => new Sliders(this, run));
    this.planes = runs.map((run) => new Plane(this, run));
    this.grids = [];
  }

  // What the first picture stands among.
  build() {
    byId("latents").append(...this.sliders.map((each) => each.element));
    byId("planes").append(...this.planes.map((each) => each.element));
    byId("walk").hidden = this.state.axes[1] === 0;
    byId("follow-label").hidden = !this.runs.some((run) => run.points);
    byId("follow").checked = this.state.follow;
    this.buildCards();
    this.buildStarts();
    this.buildAxes();
    this.buildTint();
    byId("factors").hidden = !this.data?.factors?.names.length;
    this.at = this.data?.frames ? [...this.data.frames.start] : null;
    this.listen();
  }

  // All else, once the first picture is seen.
  async complete() {
    this.grids = this.runs.map((run) => new Grid(this, run));
    byId("grids").append(...this.grids.map((each) => each.element));
    this.buildFactors();
    this.show();
    await this.drawStarts();
    await this.encoders();
  }

  // Before anything is encoded.
  encoders() {
    this.opening ??= Promise.all(this.runs.map((run) => run.model.canEncode && run.model.openEncoder()));
    return this.opening;
  }

  buildCards() {
    this.picture = newCanvas(1, 1);
    this.hint = element("span", { class: "hint" }, this.canEncode ? "Drop a picture here" : "no picture");
    this.told = element("figcaption", {}, "");
    const source = element("figure", { id: "source" }, element("div", { class: "frame" }, this.picture, this.hint), this.told);
    byId("cards").append(source);
    byId("cards").dataset.count = this.runs.length + 1;
    for (const run of this.runs) {
      run.canvas = newCanvas(run.preparation.shape[2], run.preparation.shape[1]);
      run.canvas.setAttribute("role", "img");
      run.canvas.setAttribute("aria-label", `What ${run.label} decodes`);
      run.told = element("span", { class: "error", title: "mean of the squared differences of all pixels" });
      const name = this.runs.length > 1 ? run.label : "the model";
      byId("cards").append(element("figure", {}, element("div", { class: "frame" }, run.canvas), element("figcaption", {}, name, run.told)));
    }
    byId("together-label").hidden = this.runs.length < 2;
  }

  buildStarts() {
    const { preparation } = this.runs[0], { count, width, height } = this.data?.starts || { count: 12, width: preparation.shape[2], height: preparation.shape[1] };
    byId("starts-note").textContent = this.data ? `Pictures of ${this.data.name}.` : "What the first model decodes from codes of its prior.";
    if (!this.data) byId("starts-title").textContent = "Start from a sample of the prior";
    this.thumbnails = Array.from({ length: count }, () => newCanvas(width, height));
    byId("thumbnails").append(...this.thumbnails.map((canvas, i) => {
      const label = this.data ? `Picture ${i + 1} of the data` : `Sample ${i + 1} of the prior`;
      const onclick = () => (this.data ? this.startFrom(i) : this.goToDraw(i));
      return element("button", { type: "button", "aria-label": label, title: label, onclick }, canvas);
    }));
    if (this.canEncode) return;
    const [{ description }] = this.runs;
    byId("own").replaceChildren(element("span", { class: "soft" }, `A picture of your own cannot be taken: ${description?.encoder_missing || "the encoder is not in the page"}.`));
  }

  // The pictures of the data, read when they are first needed.
  get starts() {
    this.reading ??= Sheet.open(this.data.starts);
    return this.reading;
  }

  async drawStarts() {
    const [run] = this.runs, sheet = this.data && (await this.starts);
    this.thumbnails.forEach((canvas, i) => draw(canvas, sheet ? seen(sheet.picture(i)) : run.model.decode(run.draw(i), true)));
  }

  buildAxes() {
    const ranks = Math.min(...this.runs.map((run) => run.size));
    for (const [k, id] of ["axis-x", "axis-y"].entries()) {
      for (let rank = 0; rank < ranks; rank++) {
        const names = [...new Set(this.runs.map((run) => run.nameOf(run.order[rank])))].join(" | ");
        byId(id).append(element("option", { value: rank }, `${rank + 1}. ${names}`));
      }
      byId(id).addEventListener("change", () => {
        this.state.axes[k] = Number(byId(id).value);
        this.show();
      });
    }
    byId("walk-note").textContent = this.runs.some((run) => run.points)
      ? "Drag the point, or tap where it is to go. Faint points are codes of the data: where there are none, the model was never trained to decode."
      : "Drag the point, or tap where it is to go.";
  }

  buildTint() {
    const factors = this.data?.factors;
    if (!factors?.names.length || !this.runs.some((run) => run.points)) return;
    byId("tint-label").hidden = false;
    byId("tint").append(element("option", { value: "" }, "none"), ...factors.names.map((name, k) => element("option", { value: k }, name)));
    byId("tint").addEventListener("change", () => {
      this.state.tint = byId("tint").value === "" ? null : Number(byId("tint").value);
      this.show();
    });
  }

  // A colour for each point of the plane.
  tints() {
    const { tint } = this.state, factors = this.data?.factors;
    if (tint === null || !factors || !(tint in factors.names)) return null;
    const values = factors.values.map((row) => row[tint]), size = factors.sizes[factors.columns[tint]];
    const [low, high] = Array.isArray(size) ? size : [0, size - 1];
    return values.map((value) => tintOf((value - low) / (high - low || 1), size <= CLASSES.length ? size : 0));
  }

  showLegend() {
    const { tint } = this.state, factors = this.data?.factors, isTinted = tint !== null && factors && tint in factors.names;
    const size = isTinted ? factors.sizes[factors.columns[tint]] : 0;
    const dot = (background, kind = "") => {
      const made = element("i", { class: kind });
      made.style.background = background;
      return made;
    };
    const [low, high] = Array.isArray(size) ? size : [0, size - 1], isClasses = size <= CLASSES.length;
    const entries = !isTinted ? [] : isClasses
      ? Array.from({ length: size }, (_, k) => [dot(tintOf(k / Math.max(1, size - 1), size)), String(k)]).flat()
      : [shortened(low), dot(`linear-gradient(90deg, ${RAMP.map((colour) => `rgb(${colour})`)})`, "ramp"), shortened(high)];
    byId("legend").replaceChildren(...entries);
  }

  // Factors: the true picture, and what each model makes of it.

  buildFactors() {
    const frames = this.data?.frames;
    if (!frames) {
      byId("factors-note").textContent = `${this.data?.name} cannot draw every combination of its factors, so there is nothing to move here.`;
      return;
    }
    const { names, columns } = this.data.factors;
    byId("factors-note").textContent = (this.canEncode ? "The picture that the data set draws, and what each model makes of it." : "The picture that the data set draws.")
      + (frames.kind === "cross" ? " One factor moves at a time; the others go back to where they were." : "");
    this.factorInputs = names.map((name, k) => {
      const column = columns[k], levels = frames.levels[column], id = `factor-${column}`;
      const input = element("input", { type: "range", id, min: 0, max: levels.length - 1, step: 1, value: this.at[column] });
      const value = element("output", { for: id });
      input.addEventListener("input", () => this.moveFactor(column, Number(input.value)));
      byId("factor-sliders").append(element("div", { class: "slider" }, element("label", { for: id }, element("b", {}, name)), value, input));
      return { input, value, column };
    });
    this.showFactors();
  }

  showFactors() {
    const { frames } = this.data;
    for (const { input, value, column } of this.factorInputs || []) {
      const at = frames.levels[column][this.at[column]];
      input.value = this.at[column];
      value.textContent = shortened(at);
      input.setAttribute("aria-valuetext", value.textContent);
    }
  }

  frameNumber() {
    const { kind, levels, start } = this.data.frames;
    if (kind === "grid") return levels.reduce((number, values, k) => number * values.length + this.at[k], 0);
    const moved = Math.max(0, this.at.findIndex((i, k) => i !== start[k]));
    return levels.slice(0, moved).reduce((sum, values) => sum + values.length, 0) + this.at[moved];
  }

  async moveFactor(column, level) {
    const { frames } = this.data;
    if (frames.kind === "cross") this.at = [...frames.start];
    this.at[column] = level;
    await this.trying(async () => this.take(...(await this.frame())));
  }

  // The picture of the factors, and what it is.
  async frame() {
    const { frames } = this.data;
    this.showFactors();
    this.frames ??= Sheet.open(frames.sheet);
    const sheet = await this.frames, number = this.frameNumber();
    const told = frames.heldOut.includes(number) ? "the data set, a combination never seen in training" : "the data set, by its factors";
    return [sheet.picture(number), { told, link: `f${this.at.join("-")}` }];
  }

  // Going somewhere.

  // Every model that can encodes the picture and goes to its code.
  async take(picture, source) {
    if (!(await this.setSource(picture, source))) return;
    for (const run of this.runs) if (run.own) run.code = run.own.code;
    this.show();
  }

  // The picture beside those of the models, what each model sees of it, and its code, if it is not known by `codeOf`;
  // no picture: a place to drop one. Whether it was still wanted when encoders were there.
  async setSource(picture, source, codeOf = null) {
    const turn = ++this.turn;
    if (picture && !codeOf) await this.encoders();
    if (turn !== this.turn) return false;
    for (const run of this.runs) {
      const isSeen = picture && (codeOf || run.model.canEncode), prepared = isSeen && prepare(picture, run.preparation);
      run.own = isSeen ? { picture: prepared, code: codeOf ? codeOf(run) : run.model.encode(prepared) } : null;
    }
    this.showSource(picture, source);
    return true;
  }

  showSource(picture, source) {
    this.state.source = { ...source, picture };
    this.hint.hidden = Boolean(picture);
    this.picture.hidden = !picture;
    this.told.textContent = source.told || "";
    if (!picture) return;
    draw(this.picture, this.runs.find((run) => run.own)?.own.picture || prepare(picture, this.runs[0].preparation));
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-label", source.told);
  }

  startFrom(i) {
    for (const run of this.runs) run.code = run.model.settle(run.codeOf(i));
    this.setStart(i);
    this.show();
  }

  // A picture of the data, whose codes are in the page; it may come after them.
  setStart(i) {
    const turn = ++this.turn, source = { told: `picture ${i + 1} of the data`, link: `d${i}` };
    this.state.source = source;
    this.told.textContent = source.told;
    return this.trying(async () => {
      const sheet = await this.starts;
      if (turn !== this.turn) return;
      await this.setSource(sheet.picture(i), source, (run) => run.model.settle(run.codeOf(i)));
      this.show();
    });
  }

  // Runs what may fail after it has begun, and says so.
  async trying(work) {
    try {
      await work();
    } catch (error) {
      this.problem(error.message);
    }
  }

  goToDraw(i) {
    this.drawn = i;
    for (const run of this.runs) run.code = run.model.settle(run.draw(i));
    this.setSource(null, { told: `sample ${i + 1} of the prior`, link: "" });
    this.say(`sample ${i + 1} of the prior`);
    this.show();
  }

  random() {
    const count = Math.min(...this.runs.map((run) => run.draws.length / run.size));
    this.goToDraw((this.drawn + 1) % count);
  }

  reset() {
    if (this.data) this.startFrom(0);
    else {
      for (const run of this.runs) run.code = Float32Array.from(run.centre);
      this.setSource(null, { told: "the middle of the prior", link: "" });
      this.show();
    }
    this.say("back at the start");
  }

  async own(file) {
    if (!file) return;
    this.problem("");
    if (!this.canEncode) return this.problem("The encoder of this model is not in the page: pictures of your own cannot be taken.");
    try {
      const picture = await readPicture(file);
      await this.take(picture, { told: `your picture ${file.name || ""}`.trim(), link: "" });
    } catch (error) {
      const name = file.name || "what you gave";
      this.problem(error instanceof DOMException || error instanceof TypeError ? `${name} is not a picture that this browser can read.` : error.message);
    }
  }

  // One latent of one run; the other runs follow with the latent of the same rank, at the same share of its range.
  move(run, j, value) {
    for (const [other, [own], [at]] of this.led(run, [j], [value])) other.code = other.model.settle(other.with(own, at), own);
    this.show();
  }

  // Two latents at a time.
  walk(run, latents, values) {
    for (const [other, own, at] of this.led(run, latents, values)) {
      let code = Float32Array.from(other.code);
      own.forEach((j, k) => (code[j] = at[k]));
      if (this.state.follow && other.points) code = other.following(code, own);
      other.code = other.model.settle(code);
    }
    this.show();
  }

  // The runs that move, with their own latents and values.
  led(run, latents, values) {
    const moved = this.state.together ? this.runs.filter((other) => latents.every((j) => run.order.indexOf(j) < other.size)) : [run];
    return moved.map((other) => {
      if (other === run) return [run, latents, values];
      const own = latents.map((j) => other.order[run.order.indexOf(j)]);
      const at = own.map((j, k) => {
        const [low, high] = run.bounds(latents[k]), [first, last] = other.bounds(j);
        return first + ((values[k] - low) / (high - low || 1)) * (last - first);
      });
      return [other, own, at];
    });
  }

  pin(name) {
    this.state.pins[name] = this.runs.map((run) => Float32Array.from(run.code));
    this.say(`pinned as ${name.toUpperCase()}`);
    this.state.between = name === "a" ? 0 : 1;
    this.showPins();
    this.show();
  }

  showPins() {
    const { pins } = this.state;
    for (const name of ["a", "b"]) {
      byId(`pinned-${name}`).replaceChildren(...(pins[name] || []).map((code, i) => {
        const canvas = newCanvas(1, 1);
        draw(canvas, this.runs[i].model.decode(code, true));
        return canvas;
      }));
    }
    byId("between-slider").disabled = !(pins.a && pins.b);
    byId("between-slider").value = this.state.between;
  }

  goBetween(t) {
    const { a, b } = this.state.pins;
    this.state.between = t;
    this.runs.forEach((run, i) => {
      run.code = run.model.settle(a[i].map((value, j) => (1 - t) * value + t * b[i][j]));
    });
    this.show();
  }

  // Showing.

  show() {
    this.queue = [];
    cancelAnimationFrame(this.drawing);
    clearTimeout(this.resting);
    this.drawing = requestAnimationFrame(() => this.showNow(true));
  }

  showNow(isMoving) {
    for (const run of this.runs) {
      draw(run.canvas, run.model.decode(run.code, isMoving));
      run.told.textContent = isMoving ? run.told.textContent : this.errorOf(run);
    }
    if (!isMoving) return;
    for (const each of [...this.sliders, ...this.planes]) (each.show || each.draw).call(each);
    byId("axis-x").value = this.state.axes[0];
    byId("axis-y").value = this.state.axes[1];
    byId("tint").value = this.state.tint ?? "";
    this.showLegend();
    this.resting = setTimeout(() => this.rest(), REST);
  }

  rest() {
    this.showNow(false);
    for (const grid of this.grids) grid.isStale = true;
    this.work();
    try {
      history.replaceState(null, "", writeLink(this.state));
    } catch { /* an address that may not be changed keeps the one it has */ }
  }

  // How far the reconstruction is from the picture, as long as the code is the picture's own.
  errorOf(run) {
    if (!run.own?.code.every((value, j) => value === run.code[j])) return "";
    const { pixels } = run.model.decode(run.code), wanted = run.own.picture.pixels;
    let sum = 0;
    for (let i = 0; i < wanted.length; i++) sum += (pixels[i] - wanted[i]) ** 2;
    const error = sum / wanted.length;
    return `error ${error < 1e-4 ? error.toExponential(0) : error.toPrecision(2)}`;
  }

  // Draws what is in sight and left to draw, a few milliseconds at a time, until something moves.
  work() {
    for (const grid of [...this.grids].sort((a, b) => a.run.model.cost - b.run.model.cost)) {
      if (!grid.isStale || !grid.isSeen) continue;
      grid.isStale = false;
      this.queue.push(...grid.jobs());
    }
    cancelAnimationFrame(this.working);
    this.working = requestAnimationFrame(() => {
      const until = performance.now() + 10;
      do this.queue.shift()?.();
      while (this.queue.length && performance.now() < until);
      if (this.queue.length) this.work();
    });
  }

  say(text) {
    byId("said").textContent = text;
  }

  problem(text) {
    byId("problem").hidden = !text;
    byId("problem").textContent = text;
    if (text) byId("problem").scrollIntoView({ block: "nearest" });
  }

  // All pictures side by side in one file.
  save() {
    const pictures = [...(this.state.source.picture ? [["the picture", this.picture]] : []), ...this.runs.map((run) => [run.label, run.canvas])];
    const side = 256, gap = 12, caption = 26;
    const canvas = newCanvas(pictures.length * (side + gap) + gap, side + caption + 2 * gap), pen = canvas.getContext("2d");
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    pen.fillStyle = "#1f2933";
    pen.font = '14px system-ui, "DejaVu Sans", sans-serif';
    pictures.forEach(([name, picture], i) => {
      const scale = side / Math.max(picture.width, picture.height), left = gap + i * (side + gap);
      pen.drawImage(picture, left, gap, picture.width * scale, picture.height * scale);
      pen.fillText(name, left, side + gap + 18, side);
    });
    canvas.toBlob((file) => {
      const link = element("a", { href: URL.createObjectURL(file), download: "unweave.png" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      this.say("saved as unweave.png");
    });
  }

  async copy() {
    const address = location.href.split("#")[0] + writeLink(this.state);
    try {
      await navigator.clipboard.writeText(address);
      this.say("link copied");
    } catch {
      this.say("the address of this page is the link");
    }
  }

  // What the address says; true if it said anything.
  restore() {
    const found = readLink(location.hash, this.state);
    if (!found) return false;
    if (found.problem) {
      this.problem(found.problem);
      return false;
    }
    this.restoreSource(found.from || "");
    this.runs.forEach((run, i) => (run.code = run.model.settle(found.codes[i])));
    Object.assign(this.state, { axes: found.axes || this.state.axes, tint: found.tint, together: found.together, follow: found.follow, between: found.between });
    this.state.pins = { a: found.a, b: found.b };
    byId("together").checked = found.together;
    byId("follow").checked = found.follow;
    this.showPins();
    this.show();
    return true;
  }

  restoreSource(from) {
    const numbers = from.slice(1).split("-").map(Number);
    const isFrame = from[0] === "f" && this.at?.length === numbers.length && numbers.every((n, k) => n in this.data.frames.levels[k]);
    if (isFrame) this.restoreFrame(numbers);
    else if (from[0] === "d" && this.data && Number.isInteger(numbers[0]) && numbers[0] >= 0 && numbers[0] < this.data.starts.count) this.setStart(numbers[0]);
    else this.setSource(null, { told: "", link: "" });
  }

  restoreFrame(numbers) {
    this.at = numbers;
    return this.trying(async () => {
      if (await this.setSource(...(await this.frame()))) this.show();
    });
  }

  // Listening.

  listen() {
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("random", () => this.random());
    click("reset", () => this.reset());
    click("save", () => this.save());
    click("copy", () => this.copy());
    click("pin-a", () => this.pin("a"));
    click("pin-b", () => this.pin("b"));
    byId("between-slider").addEventListener("input", () => this.goBetween(Number(byId("between-slider").value)));
    for (const name of ["together", "follow"]) {
      byId(name).addEventListener("change", () => {
        this.state[name] = byId(name).checked;
        this.show();
      });
    }
    byId("file")?.addEventListener("change", () => {
      const [file] = byId("file").files;
      byId("file").value = ""; // so that the same file can be chosen again
      this.own(file);
    });
    document.addEventListener("paste", (event) => this.own(event.clipboardData?.files[0]));
    document.addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    document.addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      this.own(event.dataTransfer.files[0]);
    });
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.restore());
    window.addEventListener("resize", () => this.show());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  key(event) {
    const isTyping = event.target.closest?.("select, input:not([type=range]):not([type=checkbox])");
    if (isTyping || !byId("keys").checked || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      r: () => this.random(), 0: () => this.reset(), s: () => this.save(), l: () => this.copy(),
      a: () => this.pin("a"), b: () => this.pin("b"),
    }[event.key.toLowerCase()];
    if (act) act();
    else if (/^[1-9]$/.test(event.key)) this.sliders[0].focus(Number(event.key) - 1);
    else return;
    event.preventDefault();
  }
}

async function begin() {
  const [kernel, packed] = await Promise.all([blob("kernel"), blob("facts")]);
  const facts = JSON.parse(new TextDecoder().decode(packed));
  const runs = await Promise.all(facts.runs.map((each, i) => Run.open(each, i, kernel)));
  const app = new Explorer(facts, runs);
  app.build();
  byId("explorer").hidden = false;
  if (!app.restore()) app.reset();
  app.say("");
  cancelAnimationFrame(app.drawing);
  app.showNow(true);
  window.UnweaveExplorer = {
    codes: () => runs.map((run) => Array.from(run.code)),
    canvases: runs.map((run) => run.canvas),
  };
  mark("ready");
  await new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)));
  await app.complete();
  mark("complete");
}

// Milliseconds since the page was asked for: "ready" when the first picture is drawn and everything beside it can be
// moved, "complete" when all is there.
function mark(name) {
  document.documentElement.dataset[name] = performance.now().toFixed(1);
}

begin().catch((error) => tell(error.message));
