// Runs a packed model in a page: decoder and encoder, by the kernel in WebAssembly. No request, no dependency, no eval.
//
//   const model = await UnweaveEngine.open(wasmBytes, description, weights);
//   model.decode(code, [32, 32])  ->  {pixels, channels, height, width}
//   model.encode(pixels)          ->  {means, deviations}
//
// Pixels are Float32Arrays of channels, height and width, in [0, 1]. The description is that of
// unweave.explorer.packing.pack; kernel.c says how maps lie in memory. All memory of a model is allocated by open, but
// for what the page asks to be put off: other sizes than `first`, and an encoder whose weights come later.
(() => {
  "use strict";

  const { decoderInputs, posteriorOf } = globalThis.UnweaveCodes; // codes.js
  const FORMAT = 1;
  const STAGE = 1 << 16; // numbers of 16 bits that are expanded at a time

  const sides = (size) => size.join(" x ");
  const roundUp = (count, multiple) => Math.ceil(count / multiple) * multiple;

  // As torch.linspace(-1, 1, count), in float32.
  function linspace(count) {
    const step = Math.fround(2 / (count - 1));
    return Float32Array.from({ length: count }, (_, i) => {
      if (count === 1) return -1;
      return i < count / 2 ? -1 + step * i : 1 - step * (count - 1 - i);
    });
  }

  // ---- memory ------------------------------------------------------------------------------------------------------

  // The memory of one kernel: allocated from below, never freed but for what is on top.
  class Memory {
    constructor(kernel) {
      this.kernel = kernel;
      this.top = roundUp(kernel.__heap_base.value, 64);
      this.used = this.top; // above this, memory is untouched and so zero
    }

    // Room for `count` zeros; its address.
    allocate(count) {
      const start = this.top;
      this.top = roundUp(start + 4 * count, 64);
      const missing = this.top + 64 - this.kernel.memory.buffer.byteLength;
      if (missing > 0) this.kernel.memory.grow(Math.ceil(missing / 65536));
      const stale = Math.min(this.used, this.top) - start;
      if (stale > 0) new Uint8Array(this.kernel.memory.buffer, start, stale).fill(0);
      this.used = Math.max(this.used, this.top);
      return start;
    }

    // Runs `work` and forgets what it allocated.
    temporarily(work) {
      const top = this.top;
      work();
      this.top = top;
    }

    floats(address, count) {
      return new Float32Array(this.kernel.memory.buffer, address, count);
    }

    // The numbers in memory, followed by zeros up to a multiple; their address.
    numbers(values, multiple = 8) {
      const address = this.allocate(roundUp(Math.max(values.length, 1), multiple));
      this.floats(address, values.length).set(values);
      return address;
    }

    whole(values) {
      const address = this.allocate(values.length);
      new Int32Array(this.kernel.memory.buffer, address, values.length).set(values);
      return address;
    }
  }

  // Maps with a border of zeros. `start` is the address of their first pixel inside the border.
  class Maps {
    constructor(memory, channels, height, width, pitch, border = [0, 0]) {
      const [before, after] = border;
      Object.assign(this, { channels, height, width, pitch });
      this.row = (width + before + after) * pitch;
      const address = memory.allocate((height + before + after) * this.row);
      this.start = address + 4 * before * (this.row + pitch);
    }
  }

  // A vector, followed by zeros up to a multiple of 8.
  class Vector {
    constructor(memory, size) {
      this.size = size;
      this.start = memory.allocate(roundUp(size, 8));
    }
  }

  // ---- shapes of convolutions --------------------------------------------------------------------------------------

  // Along one axis, the phases of the output: which taps (`count` of them, from `first` on) meet the input from position
  // `offset` on. A convolution has one phase, an up-convolution two.
  function phases(operation) {
    const { kernel, before } = operation;
    if (!isUp(operation)) return [{ first: 0, count: kernel, offset: -before }];
    return [0, 1].map((phase) => {
      const parity = (phase + before) % 2;
      const first = kernel - 1 - ((kernel - 1 - parity) % 2);
      return { first, count: (first - parity) / 2 + 1, offset: (phase + before - first) / 2 };
    });
  }

  const isUp = (operation) => operation.op === "upconv" || (operation.op === "broadcast" && operation.stride === 2);
  const outputSide = (operation, side) => (isUp(operation) ? 2 * side : Math.floor(side / operation.stride));

  // Whether a convolution is computed by tiles of 6 x 6 inputs (kernel.c, convolve_points), which takes fewer products.
  const byPoints = ({ op, stride, kernel, inputs, outputs }) =>
    op === "conv" && stride === 1 && kernel >= 3 && kernel <= 5 && inputs >= 16 && outputs >= 16;

  // The zeros that a convolution reads in front of its input and behind it, along one axis of this size.
  function border(operation, side) {
    if (byPoints(operation)) {
      const step = 7 - operation.kernel; // outputs of a tile
      return [operation.before, Math.ceil(side / step) * step - step + 6 - operation.before - side];
    }
    let [front, behind] = [0, 0];
    const last = isUp(operation) ? side - 1 : (outputSide(operation, side) - 1) * operation.stride;
    for (const { count, offset } of phases(operation)) {
      front = Math.max(front, -offset);
      behind = Math.max(behind, last + offset + count - side);
    }
    return [front, behind];
  }

  // ---- a program: operations with their memory, as a list of calls of the kernel ------------------------------------

  class Program {
    // `weights` begin at the byte `from` of the block that the description refers to.
    constructor(memory, weights, operations, loaded, from = 0) {
      Object.assign(this, { memory, weights, operations, loaded, from });
      this.kernel = memory.kernel;
      this.calls = [];
    }

    run() {
      for (const call of this.calls) call();
    }

    // The array of a description, as float32, in memory that is allocated already.
    expand(tensor, address) {
      const { kernel, memory } = this;
      const { count, type, scale } = tensor;
      const offset = tensor.offset - this.from;
      const bytes = this.weights.subarray(offset, offset + count * (type === "float32" ? 4 : 2));
      if (offset < 0 || bytes.length !== count * (type === "float32" ? 4 : 2)) throw new Error("weights of the model are missing");
      if (type === "float32") {
        new Uint8Array(kernel.memory.buffer, address, bytes.length).set(bytes);
        return;
      }
      memory.temporarily(() => {
        const stage = memory.allocate(STAGE / 2);
        for (let done = 0; done < count; done += STAGE) {
          const part = bytes.subarray(2 * done, Math.min(bytes.length, 2 * (done + STAGE)));
          new Uint8Array(kernel.memory.buffer, stage, part.length).set(part);
          if (type === "float16") kernel.expand(stage, address + 4 * done, part.length / 2, scale);
          else kernel.expand_fixed(stage, address + 4 * done, part.length / 2);
        }
        const { steps, rows, columns, by_row: byRow } = tensor;
        if (type === "fixed16") kernel.rescale(address, this.array(steps), rows, columns, Number(byRow));
      });
    }

    // The same in memory of its own, followed by zeros; its address.
    array(tensor) {
      const address = this.memory.allocate(roundUp(tensor.count, 8));
      this.expand(tensor, address);
      return address;
    }

    // What is made once for all sizes of a decoder.
    once(key, make) {
      if (!this.loaded.has(key)) this.loaded.set(key, make());
      return this.loaded.get(key);
    }

    // The maps that an operation gives, with the border that the convolution behind it needs.
    maps(place, channels, height, width, pitch) {
      const reader = this.operations.slice(place + 1).find((operation) => operation.op !== "affine");
      const reads = reader && (reader.op === "conv" || reader.op === "upconv");
      const [tall, wide] = [height, width].map((side) => (reads ? border(reader, side) : [0, 0]));
      const around = [Math.max(tall[0], wide[0]), Math.max(tall[1], wide[1])];
      return new Maps(this.memory, channels, height, width, pitch, around);
    }

    // Appends all operations to `value`, maps or a vector; what comes out.
    build(value, image) {
      this.operations.forEach((operation, place) => {
        value = this[operation.op](operation, place, value, image);
      });
      return value;
    }

    linear(operation, place, value) {
      const { memory, kernel } = this;
      const { inputs, outputs, slope } = operation;
      const width = roundUp(inputs, 4);
      const [weight, bias] = this.once(`linear ${place}`, () => {
        const address = memory.allocate(roundUp(outputs, 4) * width);
        if (width === inputs) this.expand(operation.weight, address);
        else
          memory.temporarily(() => {
            const dense = this.array(operation.weight);
            kernel.relay(dense, 0, inputs, address, 0, width, inputs, outputs, 1);
          });
        return [address, this.array(operation.bias)];
      });
      const out = new Vector(memory, outputs);
      this.calls.push(() => kernel.linear(value.start, weight, bias, out.start, width, outputs, slope));
      if (operation.tanh) this.calls.push(() => kernel.tanh_all(out.start, roundUp(outputs, 4)));
      return out;
    }

    layernorm(operation, place, value) {
      const { kernel } = this;
      const [scale, shift] = this.constants(operation, place);
      const { epsilon, slope } = operation;
      this.calls.push(() => kernel.layer_norm(value.start, scale, shift, value.size, epsilon, slope));
      return value;
    }

    affine(operation, place, value) {
      const { kernel } = this;
      const [scale, shift] = this.constants(operation, place);
      const { pitch, row, height, width } = value;
      if (value instanceof Vector)
        this.calls.push(() => kernel.scale_shift(value.start, scale, shift, value.size, 0, 0, 1, 1));
      else this.calls.push(() => kernel.scale_shift(value.start, scale, shift, pitch, pitch, row, height, width));
      return value;
    }

    constants({ scale, shift }, place) {
      return this.once(`constants ${place}`, () => [scale, shift].map((tensor) => this.array(tensor)));
    }

    unflatten(operation, place, value) {
      const { kernel } = this;
      const [channels, height, width] = operation.shape;
      const out = this.maps(place, channels, height, width, roundUp(channels, 8));
      const layout = [value.start, channels, channels * width, out.start, out.pitch, out.row, channels, height, width];
      this.calls.push(() => kernel.relay(...layout));
      return out;
    }

    flatten(operation, place, value) {
      const { kernel } = this;
      const { channels, height, width, pitch, row } = value;
      const out = new Vector(this.memory, channels * height * width);
      const layout = [value.start, pitch, row, out.start, channels, channels * width, channels, height, width];
      this.calls.push(() => kernel.relay(...layout));
      return out;
    }

    conv(operation, place, value) {
      const { outputs, inputs } = operation;
      const [height, width] = [value.height, value.width].map((side) => outputSide(operation, side));
      const own = operation.coordinates ? inputs - 2 : inputs;
      const kernels = { skip: 0, used: own, thin: outputs <= 4 && value.pitch % 4 === 0, key: `conv ${place}` };
      let bias = { start: this.once(`bias ${place}`, () => this.array(operation.bias)) };
      if (operation.coordinates) bias = this.constant(operation, place, grid(value.height, value.width), bias);
      const out = this.maps(place, outputs, height, width, kernels.thin ? 4 : roundUp(outputs, 8));
      if (byPoints(operation)) this.calls.push(this.tiled(operation, value, kernels, bias, out));
      else this.calls.push(...this.convolution(operation, value, kernels, bias, out, operation.slope));
      return out;
    }

    upconv(operation, place, value) {
      return this.conv(operation, place, value);
    }

    // What the coordinates and the bias give to a convolution, the same for every code: computed now.
    constant(operation, place, coordinates, bias) {
      const { inputs, outputs } = operation;
      const [height, width] = [coordinates.height, coordinates.width].map((side) => outputSide(operation, side));
      const out = new Maps(this.memory, outputs, height, width, roundUp(outputs, 8));
      this.memory.temporarily(() => {
        const around = border(operation, Math.max(coordinates.height, coordinates.width));
        const maps = new Maps(this.memory, 2, coordinates.height, coordinates.width, 2, around);
        const view = this.memory.floats(0, this.kernel.memory.buffer.byteLength / 4);
        for (let i = 0; i < maps.height; i++)
          for (let j = 0; j < 2 * maps.width; j++)
            view[maps.start / 4 + i * maps.row + j] = coordinates.values[2 * i * maps.width + j];
        const kernels = { skip: inputs - 2, used: 2, thin: false };
        for (const call of this.convolution(operation, maps, kernels, bias, out, 1)) call();
      });
      return out;
    }

    // The calls that compute a convolution of maps, one for each phase. `kernels` says which inputs' kernels are used.
    convolution(operation, value, kernels, bias, out, slope) {
      const finer = isUp(operation) ? 2 : 1; // the outputs of a phase are this far apart
      const coarser = isUp(operation) ? 1 : operation.stride;
      const compute = this.kernel[kernels.thin ? "convolve_thin" : "convolve"];
      const several = kernels.thin ? operation.outputs : roundUp(operation.outputs, 8) / 8;
      const [rows, columns] = [out.height / finer, out.width / finer];
      const arrange = () => this.arrange(operation, value.pitch, kernels);
      const arranged = kernels.key ? this.once(kernels.key, arrange) : arrange();
      const [biasStep, biasRow] = bias.row ? [finer * bias.pitch, finer * bias.row] : [0, 0];
      return arranged.map(({ y, x, i, j, weight }) => {
        const at = value.start + 4 * (y.offset * value.row + x.offset * value.pitch);
        const from = bias.row ? bias.start + 4 * (i * bias.row + j * bias.pitch) : bias.start;
        const to = out.start + 4 * (i * out.row + j * out.pitch);
        const reads = [at, value.row, coarser * value.pitch, coarser * value.row, weight, x.count * value.pitch, y.count];
        const writes = [from, biasStep, biasRow, to, finer * out.pitch, finer * out.row, rows, columns, several, slope];
        return () => compute(...reads, ...writes);
      });
    }

    // The call that computes a convolution by tiles.
    tiled(operation, value, { skip, used, key }, bias, out) {
      const { kernel, memory } = this;
      const { inputs, outputs, before, slope, kernel: size } = operation;
      const blocks = roundUp(outputs, 8) / 8;
      const weight = this.once(key, () => {
        const address = memory.allocate(36 * blocks * 8 * value.pitch);
        memory.temporarily(() => {
          const dense = this.array(operation.weight);
          kernel.arrange_points(dense, address, size, inputs, outputs, skip, used, value.pitch);
        });
        return address;
      });
      const tiles = Math.ceil(out.width / (7 - size));
      const work = memory.allocate(8 * blocks + 36 * tiles * (value.pitch + 8 * blocks));
      const at = value.start - 4 * before * (value.row + value.pitch);
      const [biasStep, biasRow] = bias.row ? [bias.pitch, bias.row] : [0, 0];
      return () =>
        kernel.convolve_points(
          ...[at, value.row, value.pitch, weight, size, bias.start, biasStep, biasRow],
          ...[out.start, out.row, out.height, out.width, blocks, slope, work],
        );
    }

    // The kernels of each phase in the order in which the kernel reads them.
    arrange(operation, pitch, { skip, used, thin }) {
      const { kernel, inputs, outputs } = operation;
      const axis = phases(operation);
      const pairs = axis.flatMap((y, i) => axis.map((x, j) => ({ y, x, i, j })));
      const channels = thin ? outputs : roundUp(outputs, 8);
      for (const pair of pairs) pair.weight = this.memory.allocate(pair.y.count * pair.x.count * pitch * channels);
      this.memory.temporarily(() => {
        const dense = this.array(operation.weight);
        const step = isUp(operation) ? -2 : 1;
        const put = this.kernel[thin ? "arrange_thin" : "arrange"];
        for (const { y, x, weight } of pairs)
          put(dense, weight, kernel, inputs, outputs, skip, used, pitch, y.first, x.first, step, y.count, x.count);
      });
      return pairs;
    }

    // A code, tiled over the image, and the coordinates, convolved (see networks/broadcast.py).
    broadcast(operation, place, value, image) {
      const { memory, kernel } = this;
      const { outputs, stride } = operation;
      const [tall, wide] = operation.tile.map((side, axis) => (image.size[axis] * side) / image.full[axis]);
      const [rows, columns] = [tall, wide].map((side) => borderClasses(operation, side));
      const pitch = roundUp(outputs, 8);
      const key = `classes ${place} ${JSON.stringify([rows.masks, columns.masks])}`;
      const weight = this.once(key, () => this.classWeights(operation, rows.masks, columns.masks));
      const bias = this.once(`bias ${place}`, () => this.array(operation.bias));
      const own = operation.grid && this.read(operation.grid);
      const coordinates = own ? { height: tall, width: wide, values: own } : grid(tall, wide);
      const constant = this.constant(operation, place, coordinates, { start: bias });
      const out = this.maps(place, outputs, tall * stride, wide * stride, pitch);
      const count = rows.masks.length * columns.masks.length * pitch;
      const perClass = new Vector(memory, count);
      const [rowClass, columnClass] = [memory.whole(rows.member), memory.whole(columns.member)];
      const zeros = this.once(`zeros ${count}`, () => memory.allocate(count));
      this.calls.push(
        () => kernel.linear(value.start, weight, zeros, perClass.start, roundUp(operation.latents, 4), count, 1),
        () =>
          kernel.spread(
            ...[perClass.start, rowClass, columnClass, columns.masks.length, constant.start],
            ...[out.start, out.row, pitch, out.height, out.width, operation.slope],
          ),
      );
      return out;
    }

    read(tensor) {
      let values;
      this.memory.temporarily(() => {
        values = this.memory.floats(this.array(tensor), tensor.count).slice();
      });
      return values;
    }

    // The sum of the kernel's taps inside the image, for each pair of border classes: (classes * pitch, latents).
    classWeights(operation, rows, columns) {
      const { kernel, inputs, outputs, latents } = operation;
      const [pitch, width] = [roundUp(outputs, 8), roundUp(latents, 4)];
      const kernels = this.read(operation.weight);
      const made = new Float32Array(rows.length * columns.length * pitch * width);
      columns.forEach((column, j) => {
        // first along the rows of the kernel: (size, latents + 2, outputs) for this class of columns
        const size = inputs * outputs;
        const along = new Float32Array(kernel * size);
        for (let tap = 0; tap < kernel * kernel; tap++)
          if (column[tap % kernel])
            for (let k = 0; k < size; k++) along[Math.floor(tap / kernel) * size + k] += kernels[tap * size + k];
        rows.forEach((row, i) => {
          const base = (i * columns.length + j) * pitch * width;
          for (let y = 0; y < kernel; y++)
            if (row[y])
              for (let d = 0; d < latents; d++)
                for (let o = 0; o < outputs; o++) made[base + o * width + d] += along[y * size + d * outputs + o];
        });
      });
      return this.memory.numbers(made);
    }
  }

  // The coordinate channels x and y of an image of this size, pixel by pixel.
  function grid(height, width) {
    const [x, y] = [linspace(width), linspace(height)];
    const values = new Float32Array(2 * height * width);
    for (let i = 0; i < height; i++)
      for (let j = 0; j < width; j++) values.set([x[j], y[i]], 2 * (i * width + j));
    return { height, width, values };
  }

  // Along one axis: the distinct sets of taps that meet an input, and which of them each output has.
  function borderClasses({ kernel, before, stride }, side) {
    const masks = [];
    const names = new Map();
    const member = Array.from({ length: side * stride }, (_, place) => {
      const mask = Array.from({ length: kernel }, (_, tap) => {
        const source = stride === 1 ? place - before + tap : (place + before - tap) / 2;
        return Number.isInteger(source) && source >= 0 && source < side;
      });
      if (!names.has(String(mask))) names.set(String(mask), masks.push(mask) - 1);
      return names.get(String(mask));
    });
    return { masks, member };
  }

  // ---- the model ---------------------------------------------------------------------------------------------------

  class Model {
    constructor(kernel, description, weights, first) {
      this.memory = new Memory(kernel);
      this.imageShape = description.image_shape;
      this.latents = description.latents;
      this.sizes = description.sizes;
      this.canEncode = description.encoder !== null;
      this.description = description;
      this.weights = weights;
      this.loaded = new Map();
      this.decoders = new Map();
      this.encoder = null;
      for (const size of first) this.decoderOf(size);
      if (this.canEncode && weights.length > description.encoder_from) this.openEncoder(weights, 0);
    }

    // The encoder, of weights that begin at the byte `from` of the block: those that come by themselves begin with it.
    openEncoder(weights, from = this.description.encoder_from) {
      this.encoder ??= this.encoderOf(this.description.encoder, weights, from);
    }

    // The decoder of a size, made when it is first asked for.
    decoderOf(size) {
      const key = String([...size]);
      if (!this.sizes.some((known) => String(known) === key))
        throw new Error(`this decoder gives images of ${this.sizes.map(sides).join(" or ")}, not ${sides(size)}`);
      if (!this.decoders.has(key)) this.decoders.set(key, this.decoder(this.description.decoder, size));
      return this.decoders.get(key);
    }

    decoder({ operations, output }, size) {
      const { memory } = this;
      const { kernel } = memory;
      const [channels, ...full] = this.imageShape;
      const [height, width] = size;
      const program = new Program(memory, this.weights, operations, this.loaded);
      const first = operations.find((operation) => "weight" in operation);
      const input = new Vector(memory, first.op === "broadcast" ? first.latents : first.inputs);
      const maps = program.build(input, { size, full });
      const [scale, shift] = [memory.numbers(output.scale), memory.numbers(output.shift)];
      const image = memory.allocate(roundUp(channels * height * width, 4));
      const logits = Number(output.kind === "sigmoid");
      const layout = [maps.start, maps.pitch, maps.row, scale, shift, logits, image, channels, height, width];
      program.calls.push(() => kernel.image_out(...layout));
      return { program, input, image };
    }

    encoderOf({ operations, mean, deviation }, weights, from) {
      const { memory } = this;
      const { kernel } = memory;
      const [channels, height, width] = this.imageShape;
      const image = memory.allocate(channels * height * width);
      const [means, deviations] = [memory.numbers(mean), memory.numbers(deviation)];
      const program = new Program(memory, weights, operations, new Map(), from);
      const maps = program.maps(-1, channels, height, width, channels);
      const layout = [image, means, deviations, maps.start, maps.pitch, maps.row, channels, height, width];
      program.calls.push(() => kernel.image_in(...layout));
      return { program, image, features: program.build(maps, null) };
    }

    // The expected image of a code. Sizes other than the image's own are those that `sizes` lists.
    decode(code, size = null) {
      const [height, width] = size ?? this.imageShape.slice(1);
      const pixels = new Float32Array(this.imageShape[0] * height * width);
      this.decodeInto(code, [height, width], pixels);
      return { pixels, channels: this.imageShape[0], height, width };
    }

    decodeInto(code, size, pixels) {
      const decoder = this.decoderOf(size);
      if (code.length !== this.latents) throw new Error(`a code has ${this.latents} numbers, got ${code.length}`);
      if (!code.every(Number.isFinite)) throw new Error("a code contains a number that is not finite");
      const inputs = decoderInputs(Float32Array.from(code), this.description.decoder.codes);
      this.memory.floats(decoder.input.start, inputs.length).set(inputs);
      decoder.program.run();
      pixels.set(this.memory.floats(decoder.image, this.imageShape[0] * size[0] * size[1]));
    }

    // The images of n codes, one after the other, in one array.
    decodeMany(codes, n, size = null) {
      const [height, width] = size ?? this.imageShape.slice(1);
      const each = this.imageShape[0] * height * width;
      const all = Float32Array.from(codes);
      const pixels = new Float32Array(n * each);
      for (let i = 0; i < n; i++)
        this.decodeInto(all.slice(i * this.latents, (i + 1) * this.latents), [height, width], pixels.subarray(i * each));
      return { pixels, channels: this.imageShape[0], height, width };
    }

    // Means and deviations of the code of an image.
    encode(pixels) {
      if (!this.canEncode) throw new Error(`this model cannot encode here: ${this.description.encoder_missing}`);
      if (!this.encoder) throw new Error("the weights of the encoder are not there yet");
      const count = this.imageShape.reduce((a, b) => a * b);
      if (pixels.length !== count)
        throw new Error(`an image has ${this.imageShape.join(" x ")} = ${count} numbers, got ${pixels.length}`);
      this.memory.floats(this.encoder.image, count).set(pixels);
      this.encoder.program.run();
      const features = this.memory.floats(this.encoder.features.start, this.encoder.features.size).slice();
      return posteriorOf(features, this.description.encoder.posterior, this.latents);
    }
  }

  // The kernel, at once where the browser allows it: to wait for another thread takes longer than to compile it.
  async function start(wasmBytes) {
    try {
      return new WebAssembly.Instance(new WebAssembly.Module(wasmBytes), {});
    } catch (error) {
      if (error instanceof RangeError) return (await WebAssembly.instantiate(wasmBytes, {})).instance;
      throw new Error(`this browser cannot run the model, which needs WebAssembly with vectors: ${error.message}`);
    }
  }

  // `first`: the sizes whose decoders are made now.
  async function open(wasmBytes, description, weights, first = description.sizes) {
    if (description.format !== FORMAT) throw new Error(`the model has format ${description.format}, this page reads ${FORMAT}`);
    return new Model((await start(wasmBytes)).exports, description, weights, first);
  }

  globalThis.UnweaveEngine = { open };
})();
