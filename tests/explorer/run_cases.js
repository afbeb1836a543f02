// Opens every packed model of `cases` and runs it on its codes and images; numbers come and go as base64.
globalThis.runCases = async (wasm, cases) => {
  "use strict";
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const floatsOf = (text) => new Float32Array(bytesOf(text).buffer);
  const textOf = (floats) => {
    let text = "";
    for (const byte of new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength)) text += String.fromCharCode(byte);
    return btoa(text);
  };
  const joined = (arrays) => {
    const all = new Float32Array(arrays.reduce((sum, array) => sum + array.length, 0));
    arrays.reduce((at, array) => (all.set(array, at), at + array.length), 0);
    return textOf(all);
  };
  const found = {};
  const models = {}; // all open at once
  for (const [name, { description, weights }] of Object.entries(cases))
    models[name] = await globalThis.UnweaveEngine.open(bytesOf(wasm), description, bytesOf(weights));
  for (const [name, model] of Object.entries(models)) {
    const { latents, imageShape, sizes, canEncode } = model;
    const codes = floatsOf(cases[name].codes);
    const images = floatsOf(cases[name].images);
    const memory = model.memory.kernel.memory.buffer.byteLength;
    const parts = (all, size) => Array.from({ length: all.length / size }, (_, i) => all.subarray(i * size, (i + 1) * size));
    const decoded = {};
    for (const size of sizes) decoded[size] = joined(parts(codes, latents).map((code) => model.decode(code, size).pixels));
    const pixels = parts(images, imageShape.reduce((a, b) => a * b));
    const encoded = canEncode ? pixels.map((image) => model.encode(image)) : [];
    const many = model.decodeMany(codes, codes.length / latents);
    found[name] = {
      sizes,
      canEncode,
      decoded,
      many: textOf(many.pixels),
      means: joined(encoded.map((one) => one.means)),
      deviations: joined(encoded.map((one) => one.deviations)),
      grown: model.memory.kernel.memory.buffer.byteLength - memory,
      bytes: memory,
    };
  }
  return found;
};
