// Codes on the way into a decoder, and out of an encoder; engine.js uses them.
(() => {
  "use strict";

  // What the first layer gets for a code: the code, or for a GAN its numbers and its classes as ones among zeros.
  function decoderInputs(code, codes) {
    if (codes.kind === "plain") return codes.open === null ? code : code.map((z, i) => (i < codes.open ? z : 0));
    const inputs = [...code.subarray(0, codes.continuous)];
    codes.classes.forEach((values, place) => {
      const distances = values.map((value) => Math.abs(Math.fround(code[codes.continuous + place] - value)));
      const nearest = distances.indexOf(Math.min(...distances));
      inputs.push(...values.map((_, i) => Number(i === nearest)));
    });
    return Float32Array.from(inputs);
  }

  // Means and deviations of the code, from the encoder's features.
  function posteriorOf(features, posterior, latents) {
    const half = (logVariance) => Math.exp(0.5 * logVariance);
    let means = features.slice(0, latents);
    let deviations;
    if (posterior.kind === "diagonal") deviations = features.slice(latents, 2 * latents).map(half);
    else if (posterior.kind === "isotropic") deviations = new Float32Array(latents).fill(half(features[latents]));
    else if (posterior.kind === "full") deviations = fullDeviations(features, latents);
    else if (posterior.kind === "ball") {
      const { share, radius } = posterior;
      const variance = (centre) => share * (radius ** 2 / (latents + 2) + (1 - share) * centre ** 2) + 1 - share;
      deviations = means.map((centre) => Math.sqrt(variance(centre)));
      means = means.map((centre) => share * centre);
    } else return classesOf(features, posterior);
    if (posterior.open !== null) {
      means.fill(0, posterior.open);
      deviations.fill(1, posterior.open);
    }
    return { means, deviations };
  }

  // Of a Gaussian with a triangular root of its covariance: logarithms of its squared diagonal, then rows below it.
  function fullDeviations(features, latents) {
    let below = 2 * latents;
    return Float32Array.from({ length: latents }, (_, row) => {
      let variance = Math.exp(features[latents + row]);
      for (let column = 0; column < row; column++) variance += features[below++] ** 2;
      return Math.sqrt(variance);
    });
  }

  // A GAN's codes: Gaussian ones, then for each categorical one the most probable class and how uncertain it is.
  function classesOf(features, { continuous, classes }) {
    const means = [...features.subarray(0, continuous)];
    const deviations = [...features.subarray(continuous, 2 * continuous)].map((v) => Math.exp(0.5 * v));
    let at = 2 * continuous;
    for (const values of classes) {
      const logits = [...features.subarray(at, (at += values.length))];
      const largest = Math.max(...logits);
      const weights = logits.map((logit) => Math.exp(logit - largest));
      const total = weights.reduce((a, b) => a + b);
      const expected = (f) => weights.reduce((sum, w, i) => sum + (w / total) * f(values[i]), 0);
      means.push(values[logits.indexOf(largest)]);
      deviations.push(Math.sqrt(Math.max(0, expected((v) => v * v) - expected((v) => v) ** 2)));
    }
    return { means: Float32Array.from(means), deviations: Float32Array.from(deviations) };
  }

  globalThis.UnweaveCodes = { decoderInputs, posteriorOf };
})();
