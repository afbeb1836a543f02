// A model of the page: live by the kernel, or as pictures that were made beforehand.

const { blob, isRead, tell } = window.UnweavePage; // loader.js

const seen = (picture) => {
  const area = picture.width * picture.height, pixels = new Float32Array(3 * area);
  for (let i = 0; i < area; i++) for (let c = 0; c < 3; c++) pixels[c * area + i] = picture.bytes[4 * i + c] / 255;
  return { pixels, channels: 3, height: picture.height, width: picture.width };
};

class LiveModel {
  static async open(facts, index, kernel) {
    const { sizes } = facts.description, full = sizes[sizes.length - 1];
    const preview = sizes.find(([h, w]) => Math.max(h, w) >= 32 && h < full[0]) || null;
    const engine = await UnweaveEngine.open(kernel, facts.description, await blob(`weights-${index}`), [preview || full]);
    return new LiveModel(engine, index, preview);
  }

  constructor(engine, index, preview) {
    Object.assign(this, { engine, index, preview, canEncode: engine.canEncode, cost: preview ? Infinity : 0 });
  }

  // Before anything is encoded: the encoder's weights are not read for the first picture.
  openEncoder() {
    this.opening ??= isRead.then(() => blob(`encoder-${this.index}`)).then((weights) => this.engine.openEncoder(weights));
    return this.opening;
  }

  // The picture of a code; `quick`: smaller, if the whole one takes longer than a frame.
  decode(code, quick = false) {
    if (quick && this.preview && this.cost > 16) return this.engine.decode(code, this.preview);
    const began = performance.now(), picture = this.engine.decode(code);
    this.cost = performance.now() - began;
    return picture;
  }

  encode(picture) {
    return Float32Array.from(this.engine.encode(picture.pixels).means);
  }

  settle(code) {
    return code;
  }
}

// The nearest of codes whose pictures are known; a slider goes through those along its own latent.
class FrozenModel {
  static async open(facts) {
    return new FrozenModel(facts, await Sheet.open(facts.precomputed.sheet));
  }

  constructor(facts, sheet) {
    this.sheet = sheet;
    this.canEncode = false;
    this.cost = 0;
    this.along = facts.precomputed.along;
    const all = floatsOfBase64(facts.frames), latents = facts.latents.length;
    this.codes = this.along.map((_, i) => all.subarray(i * latents, (i + 1) * latents));
  }

  nearest(code, latent = null) {
    let best = 0, least = Infinity;
    this.codes.forEach((known, i) => {
      if (latent !== null && this.along[i] !== latent) return;
      let distance = 0;
      known.forEach((value, j) => {
        if (latent === null || j === latent) distance += (value - code[j]) ** 2;
      });
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  settle(code, latent = null) {
    const own = latent !== null && this.along.includes(latent) ? latent : null;
    return Float32Array.from(this.codes[this.nearest(code, own)]);
  }

  decode(code) {
    return seen(this.sheet.picture(this.nearest(code)));
  }
}

// One run of the page: its facts, its model, and the code at which it stands.
class Run {
  static async open(facts, index, kernel) {
    const model = facts.precomputed ? await FrozenModel.open(facts) : await LiveModel.open(facts, index, kernel);
    return new Run(facts, index, model);
  }

  constructor(facts, index, model) {
    Object.assign(this, facts);
    this.facts = facts;
    this.index = index;
    this.model = model;
    this.draws = floatsOfBase64(facts.draws);
    this.centre = floatsOfBase64(facts.centre);
    this.points = facts.codes ? floatsOfBase64(facts.codes) : null;
    this.code = Float32Array.from(this.centre);
  }

  get size() {
    return this.latents.length;
  }

  draw(i) {
    return this.draws.slice(i * this.size, (i + 1) * this.size);
  }

  // The code of the i-th picture of the data.
  codeOf(i) {
    return this.points.slice(i * this.size, (i + 1) * this.size);
  }

  // Lowest and highest value of a latent: those of the prior, and further where codes of the data lie beyond.
  bounds(j) {
    this.known ??= this.latents.map(({ low, high, number }) => {
      for (let i = number; this.points && i < this.points.length; i += this.size) {
        low = Math.min(low, this.points[i]);
        high = Math.max(high, this.points[i]);
      }
      return [low, high];
    });
    return this.known[j];
  }

  // The code at a place of a plane where the other latents are what those of the data are around there.
  following(code, latents) {
    const { points, size } = this, sum = new Float64Array(size), wide = latents.map((j) => 0.05 * (this.bounds(j)[1] - this.bounds(j)[0]));
    let whole = 0, least = Infinity;
    for (const isWeighing of [false, true]) {
      for (let i = 0; i < points.length; i += size) {
        const distance = latents.reduce((all, j, k) => all + ((points[i + j] - code[j]) / wide[k]) ** 2 / 2, 0);
        least = Math.min(least, distance);
        if (!isWeighing) continue;
        const weight = Math.exp(least - distance);
        whole += weight;
        for (let j = 0; j < size; j++) sum[j] += weight * points[i + j];
      }
    }
    return code.map((value, j) => (latents.includes(j) ? value : sum[j] / whole));
  }

  nameOf(j) {
    const { name, suggestion } = this.latents[j];
    if (suggestion) return `${name} (${suggestion}?)`;
    return name === `z${j}` ? name : `${name} (z${j})`;
  }

  with(j, value) {
    const code = Float32Array.from(this.code);
    code[j] = value;
    return code;
  }
}
