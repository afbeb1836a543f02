(() => {
  "use strict";
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const made = (tag, name, parent) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (parent) parent.append(element);
    return element;
  };

  // Tables: a click on a header, or Enter on it, sorts; rows marked "minor" stay below their own row.
  const order = new Intl.Collator("en", { numeric: true });
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return "";
    const text = (cell.dataset.value ?? (cell.querySelector("b, a") ?? cell).textContent).trim().replaceAll("\u2212", "-");
    const number = /^[-+]?[\d.,]+(e[-+]?\d+)?(\s|%|\u00b0|$)/i.test(text) ? parseFloat(text.replaceAll(",", "")) : NaN;
    return Number.isNaN(number) ? text : number;
  };
  const compared = (one, two) => {
    if (typeof one === "number" && typeof two === "number") return one - two;
    return order.compare(String(one), String(two));
  };
  const sortTable = (table, header) => {
    const column = header.cellIndex;
    const body = table.tBodies[0];
    const groups = [];
    for (const row of Array.from(body.rows)) {
      if (row.classList.contains("minor") && groups.length) groups.at(-1).push(row);
      else groups.push([row]);
    }
    const values = new Map(groups.map((group) => [group, valueOf(group[0], column)]));
    const numbers = groups.some((group) => typeof values.get(group) === "number");
    const before = header.getAttribute("aria-sort");
    const direction = before === "ascending" ? "descending" : before === "descending" || !numbers ? "ascending" : "descending";
    const sign = direction === "ascending" ? 1 : -1;
    // Cells without a number stand below all numbers, whichever way these are sorted.
    const isLast = (group) => (numbers ? typeof values.get(group) !== "number" : values.get(group) === "");
    groups.sort((a, b) => isLast(a) - isLast(b) || sign * compared(values.get(a), values.get(b)));
    for (const group of groups) body.append(...group);
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
  };
  for (const table of all("table.sortable")) {
    for (const header of table.tHead.rows[0].cells) {
      if (!header.textContent.trim()) continue;
      const button = made("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sortTable(table, header));
    }
  }

  // Figures: the point nearest to the pointer, or reached with the arrow keys, shows what lies behind it.
  const draw = (sheet, tile, canvas) => {
    const width = Number(sheet.dataset.width), height = Number(sheet.dataset.height), columns = Number(sheet.dataset.columns);
    canvas.width = width;
    canvas.height = height;
    canvas.getContext("2d").drawImage(sheet, (tile % columns) * width, Math.floor(tile / columns) * height, width, height, 0, 0, width, height);
  };
  const enliven = (group) => {
    const figures = all(".live", group).concat(group.matches(".live") ? [group] : []).map((element) => ({
      element, points: JSON.parse(element.dataset.points), ring: made("span", "ring", element), at: -1,
    }));
    const sheets = all("img.sprites", group);
    const card = made("div", "card", group);
    card.setAttribute("role", "status");
    card.hidden = true;
    const frames = sheets.map((sheet) => {
      const figure = made("figure", "", card);
      const canvas = made("canvas", Number(sheet.dataset.height) <= 64 ? "crisp" : "", figure);
      made("figcaption", "", figure).textContent = sheet.dataset.label;
      return { sheet, figure, canvas };
    });
    const text = made("p", "", card);
    let kept = false;
    for (const figure of figures) figure.ring.hidden = true;
    const hide = () => {
      card.hidden = true;
      kept = false;
      card.classList.remove("kept");
      for (const figure of figures) figure.ring.hidden = true;
    };
    const place = (figure, point) => {
      const home = group.getBoundingClientRect(), box = figure.element.getBoundingClientRect();
      const x = box.left - home.left + (point[0] / 1000) * box.width;
      const y = box.top - home.top + (point[1] / 1000) * box.height;
      const room = home.width - card.offsetWidth;
      const right = x + 16 <= room ? x + 16 : x - 16 - card.offsetWidth;
      card.style.left = `${Math.max(0, Math.min(right, room))}px`;
      card.style.top = `${y + 16}px`;
    };
    const show = (figure, number) => {
      const point = figure.points[number];
      figure.at = number;
      for (const each of figures) {
        const same = each === figure ? point : point[3] < 0 ? null : each.points.find((other) => other[3] === point[3]);
        each.ring.hidden = !same;
        if (!same) continue;
        each.ring.style.left = `${same[0] / 10}%`;
        each.ring.style.top = `${same[1] / 10}%`;
      }
      text.textContent = point[2];
      for (const frame of frames) {
        frame.figure.hidden = point[3] < 0;
        if (point[3] >= 0) draw(frame.sheet, point[3], frame.canvas);
      }
      card.hidden = false;
      place(figure, point);
    };
    const keep = (figure) => {
      const point = figure.points[figure.at];
      if (!point) return;
      if (point[4]) {
        window.location.href = point[4];
        return;
      }
      kept = true;
      card.classList.add("kept");
    };
    const nearest = (figure, event, reach) => {
      const box = figure.element.getBoundingClientRect();
      let best = -1, least = reach * reach;
      figure.points.forEach((point, number) => {
        const dx = box.left + (point[0] / 1000) * box.width - event.clientX;
        const dy = box.top + (point[1] / 1000) * box.height - event.clientY;
        if (dx * dx + dy * dy < least) [best, least] = [number, dx * dx + dy * dy];
      });
      return best;
    };
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = (figure, [right, down]) => {
      const from = figure.points[Math.max(figure.at, 0)];
      if (figure.at < 0) return 0;
      let best = figure.at, least = Infinity;
      figure.points.forEach((point, number) => {
        const along = (point[0] - from[0]) * right + (point[1] - from[1]) * down;
        const across = Math.abs((point[0] - from[0]) * down + (point[1] - from[1]) * right);
        if (along > 0.5 && across <= along && along + 2 * across < least) [best, least] = [number, along + 2 * across];
      });
      return best;
    };
    for (const figure of figures) {
      const { element } = figure;
      element.addEventListener("pointermove", (event) => {
        if (kept || event.pointerType === "touch") return;
        const found = nearest(figure, event, 40);
        if (found < 0) hide();
        else show(figure, found);
      });
      element.addEventListener("pointerleave", () => kept || hide());
      element.addEventListener("click", (event) => {
        const found = nearest(figure, event, 40);
        if (found < 0 || (kept && found === figure.at)) return hide();
        show(figure, found);
        keep(figure);
      });
      element.addEventListener("focus", () => {
        if (element.matches(":focus-visible") && card.hidden) show(figure, Math.max(figure.at, 0));
      });
      element.addEventListener("blur", () => kept || hide());
      element.addEventListener("keydown", (event) => {
        if (event.key in directions) show(figure, step(figure, directions[event.key]));
        else if (event.key === "Enter" || event.key === " ") keep(figure);
        else if (event.key === "Escape") hide();
        else return;
        event.preventDefault();
      });
    }
  };
  const groups = new Set(all(".live").map((element) => element.closest(".linked") ?? element));
  groups.forEach(enliven);

  // Traversals: all latents back and forth at the same time, cut from the strips of the sheet.
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (const sheet of all(".sheet.moving")) {
    const strips = all(".strip", sheet);
    if (!strips.length) continue;
    const count = Number(strips[0].dataset.count);
    const player = made("div", "player");
    sheet.after(player);
    const controls = made("div", "controls", player);
    const button = made("button", "", controls);
    button.type = "button";
    const slider = made("input", "", controls);
    Object.assign(slider, { type: "range", min: 0, max: count - 1, step: 1, value: Math.floor(count / 2) });
    slider.setAttribute("aria-label", "value of every latent at the same time");
    const tiles = made("div", "tiles", player);
    const parts = strips.map((strip) => {
      const figure = made("figure", "", tiles);
      const canvas = made("canvas", strip.classList.contains("soft") ? "" : "crisp", figure);
      made("figcaption", "", figure).textContent = strip.closest(".row").querySelector(".name").firstChild.textContent.trim();
      return { strip, canvas };
    });
    const paint = () => {
      for (const { strip, canvas } of parts) {
        const width = (strip.naturalWidth + 2) / count - 2, height = strip.naturalHeight;
        if (!(width > 0)) continue;
        canvas.width = width;
        canvas.height = height;
        canvas.getContext("2d").drawImage(strip, Number(slider.value) * (width + 2), 0, width, height, 0, 0, width, height);
      }
    };
    let playing = !still, visible = false, direction = 1;
    const tell = () => {
      button.textContent = playing ? "Pause" : "Play";
    };
    const tick = () => {
      if (!playing || !visible) return;
      const next = Number(slider.value) + direction;
      if (next < 0 || next >= count) direction = -direction;
      slider.value = Number(slider.value) + direction;
      paint();
    };
    button.addEventListener("click", () => {
      playing = !playing;
      tell();
    });
    slider.addEventListener("input", () => {
      playing = false;
      tell();
      paint();
    });
    new IntersectionObserver((entries) => {
      visible = entries.at(-1).isIntersecting;
      if (visible) paint();
    }).observe(player);
    for (const strip of strips) strip.addEventListener("load", paint);
    setInterval(tick, 160);
    tell();
    paint();
  }
})();
