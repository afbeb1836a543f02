// The state of the page as the part of its address after #, and back.

const toText = (code) =>
  btoa(String.fromCharCode(...new Uint8Array(Float32Array.from(code).buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function ofText(text, size) {
  try {
    const code = floatsOfBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
    return code.length === size && code.every(Number.isFinite) ? code : null;
  } catch {
    return null;
  }
}

function writeLink(state) {
  const { runs, pins } = state;
  const parts = new URLSearchParams();
  parts.set("runs", runs.map((run) => run.identity).join("."));
  parts.set("z", runs.map((run) => toText(run.code)).join("."));
  parts.set("plane", state.axes.join("."));
  if (state.tint !== null) parts.set("tint", state.tint);
  if (state.source.link) parts.set("from", state.source.link);
  for (const name of ["a", "b"]) if (pins[name]) parts.set(name, pins[name].map(toText).join("."));
  if (pins.a && pins.b) parts.set("t", String(state.between));
  if (!state.together) parts.set("apart", "1");
  if (state.follow) parts.set("follow", "1");
  return `#${parts}`;
}

// What a link says, or a sentence about why it cannot be taken; null if there is none.
function readLink(text, state) {
  if (text.length < 2) return null;
  const parts = new URLSearchParams(text.slice(1)), { runs } = state;
  if (parts.get("runs") !== runs.map((run) => run.identity).join(".")) {
    return { problem: "The link is of another page: it names other models." };
  }
  const codesOf = (name) => {
    const texts = (parts.get(name) || "").split(".");
    const codes = runs.map((run, i) => ofText(texts[i] || "", run.size));
    return codes.every(Boolean) ? codes : null;
  };
  const codes = codesOf("z");
  if (!codes) return { problem: "The link is damaged: it has no code for each model." };
  const ranks = Math.min(...runs.map((run) => run.size));
  const axes = (parts.get("plane") || "").split(".").map(Number);
  const t = Number(parts.get("t"));
  return {
    codes,
    axes: axes.length === 2 && axes.every((k) => Number.isInteger(k) && k >= 0 && k < ranks) ? axes : null,
    tint: /^\d+$/.test(parts.get("tint")) ? Number(parts.get("tint")) : null,
    from: parts.get("from"),
    a: codesOf("a"),
    b: codesOf("b"),
    between: t >= 0 && t <= 1 ? t : 0,
    together: !parts.has("apart"),
    follow: parts.has("follow") && runs.some((run) => run.points),
  };
}
