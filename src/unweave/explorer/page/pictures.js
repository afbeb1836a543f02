// Pictures in and out of canvases, and any picture in the shape that a model takes, pixel for pixel as Pillow does it.

const bytesOfBase64 = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

const floatsOfBase64 = (text) => new Float32Array(bytesOfBase64(text).buffer);

function newCanvas(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

// Pixels (channels, height, width) in [0, 1] as a picture of 8 bits.
function draw(canvas, picture) {
  const { pixels, channels, height, width } = picture;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const area = height * width, image = new ImageData(width, height), out = image.data;
  for (let i = 0; i < area; i++) {
    for (let c = 0; c < 3; c++) out[4 * i + c] = Math.round(255 * pixels[(channels === 1 ? 0 : c) * area + i]);
    out[4 * i + 3] = 255;
  }
  canvas.getContext("2d", { willReadFrequently: true }).putImageData(image, 0, 0);
}

// Pixels in [0, 1], as 32-bit numbers, of bytes (height, width, channels).
function asPicture(bytes, channels, height, width) {
  const area = height * width, pixels = new Float32Array(channels * area);
  for (let i = 0; i < area; i++) for (let c = 0; c < channels; c++) pixels[c * area + i] = bytes[i * channels + c] / 255;
  return { pixels, channels, height, width };
}

// A picture of a file: RGBA bytes whose colours are not multiplied by their opacity.
async function readPicture(file) {
  const bitmap = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "none" });
  const { width, height } = bitmap;
  const context = newCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const plain = { bytes: context.getImageData(0, 0, width, height).data, width, height };
  let isBlended = false;
  for (let i = 3; i < plain.bytes.length && !isBlended; i += 4) isBlended = plain.bytes[i] > 0 && plain.bytes[i] < 255;
  const picture = (isBlended && straight(bitmap)) || plain;
  bitmap.close();
  return picture;
}

// The same by way of a texture: a canvas multiplies colours by their opacity and loses digits.
function straight(bitmap) {
  const { width, height } = bitmap;
  const gl = newCanvas(1, 1).getContext("webgl");
  if (!gl || Math.max(width, height) > gl.getParameter(gl.MAX_TEXTURE_SIZE)) return null;
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, gl.getParameter(gl.TEXTURE_BINDING_2D), 0);
  if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) !== gl.FRAMEBUFFER_COMPLETE) return null;
  const bytes = new Uint8Array(4 * width * height);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  const isRead = gl.getError() === gl.NO_ERROR;
  gl.getExtension("WEBGL_lose_context")?.loseContext(); // a browser has few of them
  return isRead ? { bytes, width, height } : null;
}

const halfEven = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

// Which part of a picture a model sees: left, top, width, height.
function cropOf({ width, height }, { shape, crop }) {
  const [, high, wide] = shape;
  if (crop === null) return [0, 0, width, height];
  let w, h;
  if (high === wide) {
    w = h = crop || Math.min(width, height);
    if (w > Math.min(width, height)) throw new Error(`The picture is ${width} x ${height} pixels; the model cuts ${w} x ${h} from its middle.`);
  } else {
    const scale = Math.min(width / wide, height / high);
    w = Math.max(1, halfEven(wide * scale));
    h = Math.max(1, halfEven(high * scale));
  }
  return [Math.floor((width - w) / 2), Math.floor((height - h) / 2), w, h];
}

// The picture that a model sees of any picture: over its background, grey or colour, cropped, resized.
function prepare(picture, preparation) {
  const [channels, high, wide] = preparation.shape;
  const [left, top, width, height] = cropOf(picture, preparation);
  const seen = new Uint8Array(width * height * channels), rgb = [0, 0, 0];
  for (let y = 0, o = 0; y < height; y++) {
    for (let x = 0, i = 4 * ((top + y) * picture.width + left); x < width; x++, i += 4) {
      const opacity = picture.bytes[i + 3];
      for (let c = 0; c < 3; c++) rgb[c] = over(picture.bytes[i + c], opacity, preparation.background[c]);
      if (channels === 1) seen[o++] = (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
      else for (let c = 0; c < 3; c++) seen[o++] = rgb[c];
    }
  }
  return asPicture(resized(seen, channels, width, height, wide, high), channels, high, wide);
}

// Pillow's alpha_composite over an opaque colour.
function over(colour, opacity, background) {
  if (opacity === 255) return colour;
  if (opacity === 0) return background;
  const sum = 128 * (colour * opacity + background * (255 - opacity)) + 128 * 128;
  return ((sum >> 8) + sum) >> 15;
}

// Pillow's bilinear filter: a triangle as wide as the reduction, rows first, 8 bits in between.
function resized(bytes, channels, width, height, wide, high) {
  const rows = width === wide ? bytes : along(bytes, channels, wide, height, weightsOf(width, wide), 1, width);
  return height === high ? rows : along(rows, channels, wide, high, weightsOf(height, high), wide, 1);
}

function weightsOf(size, wanted) {
  const scale = size / wanted, reach = Math.max(scale, 1), all = [];
  for (let i = 0; i < wanted; i++) {
    const middle = (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach + 0.5)), end = Math.min(size, Math.trunc(middle + reach + 0.5));
    const weights = [];
    for (let j = first; j < end; j++) weights.push(Math.max(0, 1 - Math.abs((j - middle + 0.5) * (1 / reach))));
    const sum = weights.reduce((a, b) => a + b, 0);
    all.push({ first, weights: weights.map((w) => Math.trunc(0.5 + (w / sum) * (1 << 22))) });
  }
  return all;
}

// One pass; `stride` is the distance, in pixels, of two neighbours in the direction of the filter.
function along(bytes, channels, width, height, weights, stride, row) {
  const out = new Uint8Array(width * height * channels), isRows = stride === 1;
  for (let y = 0, o = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const { first, weights: taps } = weights[isRows ? x : y];
      const start = isRows ? y * row + first : first * stride + x;
      for (let c = 0; c < channels; c++, o++) {
        let sum = 1 << 21;
        for (let k = 0, i = start * channels + c; k < taps.length; k++, i += stride * channels) sum += bytes[i] * taps[k];
        out[o] = Math.min(255, Math.max(0, Math.floor(sum / (1 << 22))));
      }
    }
  }
  return out;
}

// Many small pictures in one PNG.
class Sheet {
  static async open(facts) {
    await isRead;
    const png = await blob(facts.png);
    const bitmap = await createImageBitmap(new Blob([png], { type: "image/png" }), { colorSpaceConversion: "none" });
    const context = newCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0);
    bitmap.close();
    return new Sheet(facts, context);
  }

  constructor(facts, context) {
    this.facts = facts;
    this.context = context;
  }

  picture(i) {
    const { columns, width, height } = this.facts;
    const image = this.context.getImageData((i % columns) * width, Math.floor(i / columns) * height, width, height);
    return { bytes: image.data, width, height };
  }
}
