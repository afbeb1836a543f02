// Unpacks what the page keeps as letters of two bytes, and starts its script. In old words: an old browser should be able
// to read the sentence that it is too old.
(function () {
  "use strict";

  // When all of the page has been read: what the first picture does not need stands behind this script.
  var isRead = new Promise(function (done) {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", done);
    else done();
  });

  // The bytes of letters: the low byte of each first, a flipped one behind 0xE000 (unweave.explorer.letters).
  function bytesOf(text, count) {
    var units = new Uint16Array(text.length), n = 0; // every machine that runs this has the little end first
    for (var i = 0; i < text.length; i++) {
      var unit = text.charCodeAt(i);
      units[n++] = unit === 0xe000 ? text.charCodeAt(++i) ^ 0x8000 : unit;
    }
    return new Uint8Array(units.buffer, 0, count);
  }

  // Bytes sorted by their place in a number of `stride` bytes, as they were.
  function unsorted(sorted, stride) {
    var bytes = new Uint8Array(sorted.length), count = Math.floor(sorted.length / stride);
    for (var k = 0; k < stride; k++) for (var i = 0; i < count; i++) bytes[i * stride + k] = sorted[k * count + i];
    bytes.set(sorted.subarray(count * stride), count * stride);
    return bytes;
  }

  // The content of an element, inflated; what stands before this script has begun to be.
  function blob(id) {
    var known = begun[id] || inflated(id);
    delete begun[id];
    return known;
  }

  function inflated(id) {
    var element = document.getElementById(id), stride = Number(element.dataset.stride);
    var inflating = new DecompressionStream("deflate"), writer = inflating.writable.getWriter();
    writer.write(bytesOf(element.textContent, Number(element.dataset.bytes)));
    writer.close();
    return new Response(inflating.readable).arrayBuffer().then(function (buffer) {
      return stride === 1 ? new Uint8Array(buffer) : unsorted(new Uint8Array(buffer), stride);
    });
  }

  function tell(sentence) {
    var place = document.getElementById("problem");
    place.hidden = false;
    place.textContent = sentence;
  }

  var begun = {};
  window.UnweavePage = { blob: blob, isRead: isRead, tell: tell };
  if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") {
    tell("This browser has no WebAssembly, by which the models of this page compute, or cannot inflate them: open it in a newer one.");
    return;
  }
  document.querySelectorAll("script[data-bytes]").forEach(function (element) { begun[element.id] = inflated(element.id); });
  blob("code").then(function (code) {
    var script = document.createElement("script");
    script.textContent = new TextDecoder().decode(code);
    document.body.appendChild(script);
  }).catch(function (error) { tell("The page is damaged: " + error.message); });
})();
