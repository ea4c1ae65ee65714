"use strict";
// Draws the charts of the page: each is a figure of the class "chart" whose JSON says what it shows (see
// figures/chart.py). Long lines are drawn through the smallest and the largest sample of each pixel;
// zooming in brings the samples themselves.
(() => {
  const LARGEST_GAP = 20; // more missing samples than this in a row leave a gap in the line
  const BLOCK = 128; // samples whose extremes are found once
  const VIRIDIS = ["#fde725", "#addc30", "#5ec962", "#28ae80", "#21918c", "#2c728e", "#3b528b",
    "#472d7b", "#440154"]; // from the least to the largest
  const TURNED = {left: Math.PI / 2, right: -Math.PI / 2}; // arrows, which Bokeh does not have
  const INK = "#5b6673", GRID = "#e7ebf0";

  // --- numbers --------------------------------------------------------------------------------
  function bytesOf(text) {
    const binary = atob(text), bytes = new Uint8Array(binary.length);
    for (let k = 0; k < binary.length; k++) bytes[k] = binary.charCodeAt(k);
    return bytes;
  }

  function column(stored) {
    if (Array.isArray(stored)) return Float64Array.from(stored, v => v === null ? NaN : v);
    if ("step" in stored) {
      const found = new Float64Array(stored.count);
      for (let k = 0; k < found.length; k++) found[k] = stored.start + k * stored.step;
      return found;
    }
    const buffer = bytesOf(stored.f4 || stored.f8).buffer;
    if (stored.f8) return new Float64Array(buffer);
    const found = Float64Array.from(new Float32Array(buffer));
    if (stored.offset) for (let k = 0; k < found.length; k++) found[k] += stored.offset;
    return found;
  }

  class Columns {
    constructor(stored) { this.stored = stored; this.known = new Map(); }
    one(name) {
      if (!this.known.has(name)) this.known.set(name, column(this.stored[name]));
      return this.known.get(name);
    }
    get(names) { // one name, or several whose columns are added
      if (!Array.isArray(names)) return this.one(names);
      const key = names.join("+");
      if (!this.known.has(key)) {
        const total = Float64Array.from(this.one(names[0]));
        for (const name of names.slice(1)) {
          const part = this.one(name);
          for (let k = 0; k < total.length; k++) total[k] += part[k];
        }
        this.known.set(key, total);
      }
      return this.known.get(key);
    }
  }

  function firstNotBelow(x, value) {
    let low = 0, high = x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  // --- lines of any length ---------------------------------------------------------------------
  class Samples {
    constructor(x, y) { this.x = x; this.y = y; this.least = null; this.most = null; }

    blocks() { // indices of the extremes of each block; -1 where all are missing
      const count = Math.floor(this.y.length / BLOCK);
      this.least = new Int32Array(count);
      this.most = new Int32Array(count);
      for (let b = 0; b < count; b++) {
        [this.least[b], this.most[b]] = this.scan(b * BLOCK, (b + 1) * BLOCK, -1, -1);
      }
    }

    scan(begin, end, least, most) {
      const y = this.y;
      for (let k = begin; k < end; k++) {
        if (!(Math.abs(y[k]) < Infinity)) continue;
        if (least < 0 || y[k] < y[least]) least = k;
        if (most < 0 || y[k] > y[most]) most = k;
      }
      return [least, most];
    }

    extremes(begin, end) {
      if (end - begin < 3 * BLOCK) return this.scan(begin, end, -1, -1);
      if (!this.least) this.blocks();
      const first = Math.ceil(begin / BLOCK), last = Math.floor(end / BLOCK), y = this.y;
      let [least, most] = this.scan(begin, first * BLOCK, -1, -1);
      for (let b = first; b < last; b++) {
        const low = this.least[b], high = this.most[b];
        if (low >= 0 && (least < 0 || y[low] < y[least])) least = low;
        if (high >= 0 && (most < 0 || y[high] > y[most])) most = high;
      }
      return this.scan(last * BLOCK, end, least, most);
    }

    // At most two samples for each of `bins` parts of what lies between low and high.
    between(low, high, bins) {
      const x = this.x, y = this.y;
      const begin = Math.max(firstNotBelow(x, low) - 1, 0);
      const end = Math.min(firstNotBelow(x, high) + 2, x.length);
      const count = end - begin, xs = [], ys = [];
      let missing = 0;
      const put = k => {
        if (missing > LARGEST_GAP && xs.length) { xs.push(x[k]); ys.push(NaN); }
        missing = 0;
        xs.push(x[k]);
        ys.push(y[k]);
      };
      if (count <= 2 * bins) {
        for (let k = begin; k < end; k++) if (Math.abs(y[k]) < Infinity) put(k); else missing++;
      } else {
        for (let b = 0; b < bins; b++) {
          const from = begin + Math.floor(b * count / bins);
          const to = begin + Math.floor((b + 1) * count / bins);
          const [least, most] = this.extremes(from, to);
          if (least < 0) { missing += to - from; continue; }
          put(Math.min(least, most));
          if (least !== most) put(Math.max(least, most));
        }
      }
      return {x: Float64Array.from(xs), y: Float64Array.from(ys)};
    }

    at(value) { // the sample nearest to a place
      const k = firstNotBelow(this.x, value);
      if (k === 0) return 0;
      if (k === this.x.length) return k - 1;
      return value - this.x[k - 1] < this.x[k] - value ? k - 1 : k;
    }
  }

  // --- words -----------------------------------------------------------------------------------
  function words(value, digits = 5) {
    if (value === null || Number.isNaN(value)) return "n/a";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(digits - 1);
    return String(Number(value.toPrecision(digits)));
  }

  // Places 1, 2, 5, 10, ... where there are enough of them; null where straight steps tell more.
  function logTicks(low, high) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const m of [1, 2, 5]) {
        const value = Number(`${m}e${power}`);
        if (value >= low && value <= high) found.push(value);
      }
    }
    const tens = found.filter(v => String(v.toExponential()).startsWith("1e"));
    if (tens.length >= 4) return tens.filter((_, k) => k % Math.ceil(tens.length / 8) === 0);
    return found.length >= 3 ? found : null;
  }

  function short(value) { // of round numbers
    const plain = value >= 1e-3 && value < 1e5;
    return plain ? String(value) : value.toExponential().replace("e+", "e");
  }

  function element(tag, kind, text) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text) made.textContent = text;
    return made;
  }

  // --- axes that move together -------------------------------------------------------------------
  const links = new Map(); // name -> {panels, shown}
  function linkOf(name) {
    if (!links.has(name)) links.set(name, {panels: new Set(), shown: null, moving: false});
    return links.get(name);
  }

  function show(link, low, high, besides) {
    if (link.moving) return;
    link.moving = true;
    link.shown = [low, high];
    for (const panel of link.panels) if (panel !== besides) panel.followTo(low, high);
    link.moving = false;
  }

  // --- one plot ------------------------------------------------------------------------------
  class Panel {
    constructor(chart, said, place) {
      this.chart = chart;
      this.said = said;
      this.place = place;
      this.lines = [];
      this.waits = false;
      this.later = null;
      this.link = said.x.link ? linkOf(said.x.link) : null;
    }

    range(said) {
      return new Bokeh.Range1d({
        start: said.low, end: said.high, reset_start: said.low, reset_end: said.high,
      });
    }

    async draw() {
      const said = this.said;
      this.x = this.range(said.x);
      this.y = this.range(said.y);
      if (this.link && this.link.shown) [this.x.start, this.x.end] = this.link.shown;
      const zoomed = said.y.fixed ? "width" : "both";
      const drag = new Bokeh.BoxZoomTool({dimensions: zoomed});
      const wheel = new Bokeh.WheelZoomTool({dimensions: zoomed, modifiers: {ctrl: true}});
      const fig = this.fig = Bokeh.Plotting.figure({
        name: said.x.link || null, height: said.height, sizing_mode: "stretch_width", x_range: this.x, y_range: this.y,
        x_axis_type: said.x.log ? "log" : "linear", y_axis_type: said.y.log ? "log" : "linear",
        tools: [new Bokeh.PanTool(), drag, wheel, new Bokeh.ResetTool()], min_border_left: 84, min_border_right: 12,
        background_fill_color: null, border_fill_color: null, outline_line_color: null,
      });
      fig.toolbar.active_drag = drag;
      fig.toolbar.active_scroll = wheel;
      fig.toolbar.autohide = true;
      fig.toolbar.logo = null;
      this.dress(fig.below, said.x);
      this.dress(fig.left, said.y);
      this.tick(fig.below, said.x, this.x);
      this.tick(fig.left, said.y, this.y);
      for (const grid of fig.center) grid.grid_line_color = GRID;
      for (const mark of said.marks) this.mark(fig, mark);
      if (this.lines.length) this.follow(fig);
      this.x.change.connect(() => this.moved());
      this.view = await Bokeh.Plotting.show(fig, this.place);
      if (this.link) this.link.panels.add(this);
      this.refresh();
      for (const name of this.chart.hidden) this.toggle(name, false);
    }

    dress(axes, said) {
      for (const axis of axes) {
        axis.axis_label = said.label;
        axis.axis_label_text_font_style = "normal";
        axis.axis_label_text_font_size = "12px";
        axis.axis_label_text_color = INK;
        axis.major_label_text_font_size = "11px";
        axis.major_label_text_color = INK;
        axis.axis_line_color = "#b6bec9";
        axis.major_tick_line_color = "#b6bec9";
        axis.minor_tick_line_color = null;
        if (!said.log) axis.formatter.power_limit_low = -5; // 0.0002 is shorter than 2.000e-4
        if (said.ticks) {
          axis.ticker = new Bokeh.FixedTicker({ticks: said.ticks.map(t => t[0])});
          axis.major_label_overrides = new Map(said.ticks);
        }
        if (said.whole) axis.ticker.mantissas = [1, 2, 5], axis.ticker.min_interval = 1;
      }
    }

    tick(axes, said, range) { // those of the library leave the small values of a decade without
      if (!said.log || said.ticks) return;
      for (const axis of axes) {
        const own = axis.ticker, fixed = new Bokeh.FixedTicker();
        const choose = () => {
          const ticks = logTicks(range.start, range.end);
          if (ticks) {
            fixed.ticks = ticks;
            axis.major_label_overrides = new Map(ticks.map(t => [t, short(t)]));
          }
          axis.ticker = ticks ? fixed : own;
        };
        range.change.connect(choose);
        choose();
      }
    }

    mark(fig, mark) {
      const data = {};
      for (const [key, names] of Object.entries(mark.data || {})) {
        data[key] = this.chart.columns.get(names);
      }
      let drawn;
      if (mark.kind === "line") drawn = this.line(fig, mark, data);
      else if (mark.kind === "level") drawn = this.level(fig, mark);
      else drawn = this.glyph(fig, mark, data);
      this.chart.named(mark, drawn);
    }

    line(fig, mark, data) {
      const source = new Bokeh.ColumnDataSource({data: {x: [], y: []}});
      const drawn = fig.line({field: "x"}, {field: "y"}, {
        source, line_color: mark.color, line_width: mark.width, line_dash: mark.dash || [],
      });
      const one = {mark, source, drawn, samples: new Samples(data.x, data.y)};
      this.lines.push(one);
      return drawn;
    }

    level(fig, mark) {
      const drawn = new Bokeh.Span({
        dimension: mark.axis === "x" ? "height" : "width", location: mark.value,
        line_color: mark.color, line_width: mark.width, line_dash: mark.dash || [],
      });
      fig.add_layout(drawn);
      return drawn;
    }

    glyph(fig, mark, data) {
      const source = new Bokeh.ColumnDataSource({data: {...data, ...mark.texts}});
      const fill = {source, fill_color: mark.color, line_color: null, fill_alpha: mark.alpha};
      const field = name => ({field: name});
      let drawn;
      if (mark.kind === "bars") {
        drawn = fig.quad(field("left"), field("right"), {value: 0}, field("top"), fill);
      } else if (mark.kind === "band") {
        drawn = fig.varea(field("x"), field("low"), field("high"),
          {source, fill_color: mark.color, fill_alpha: mark.alpha});
      } else if (mark.kind === "segments") {
        drawn = fig.segment(field("x0"), field("y0"), field("x1"), field("y1"),
          {source, line_color: mark.color, line_width: mark.width});
      } else {
        const color = data.color ? this.colors(data.color) : mark.color;
        drawn = fig.scatter(field("x"), field("y"), {
          source, size: mark.size, marker: TURNED[mark.marker] ? "triangle" : mark.marker,
          angle: TURNED[mark.marker] || 0, fill_color: mark.hollow ? "#fff" : color,
          line_color: mark.hollow ? color : null, line_width: 1.4, fill_alpha: mark.alpha,
        });
      }
      if (mark.hover) {
        const tips = mark.hover.map(([label, name, kind]) =>
          [label, kind === "text" ? `@{${name}}` : `@{${name}}{%.6g}`]);
        const numbers = mark.hover.filter(h => h[2] !== "text").map(h => [`@{${h[1]}}`, "printf"]);
        fig.add_tools(new Bokeh.HoverTool({
          renderers: [drawn], tooltips: tips, formatters: new Map(numbers), visible: false,
          mode: mark.kind === "bars" ? "vline" : "mouse",
        }));
      }
      return drawn;
    }

    colors(values) { // logarithmic where all are positive
      const finite = Array.from(values).filter(Number.isFinite);
      const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
      const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
      const Mapper = low > 0 ? Bokeh.LogColorMapper : Bokeh.LinearColorMapper;
      const transform = new Mapper({palette: PALETTE, low, high, nan_color: "#b6bec9"});
      return {field: "color", transform};
    }

    // The values under the pointer, above all plots that are linked.
    follow(fig) {
      this.cursor = new Bokeh.Span({
        dimension: "height", location: null, line_color: INK, line_width: 1, line_dash: [2, 2],
      });
      fig.add_layout(this.cursor);
      const panels = () => this.link ? this.link.panels : [this];
      fig.on_event("mousemove", event => { for (const p of panels()) p.point(event.x); });
      fig.on_event("mouseleave", () => { for (const p of panels()) p.point(null); });
    }

    point(x) {
      if (!this.cursor) return;
      const inside = x !== null && x >= this.x.start && x <= this.x.end;
      if (this.chart.seen) this.cursor.location = inside ? x : null;
      for (const one of this.lines) {
        const place = inside ? one.samples.at(x) : -1;
        if (one.mark.name) this.chart.values.set(one.mark.name, place < 0 ? "" : words(one.samples.y[place]));
        if (place >= 0) this.chart.where = words(one.samples.x[place], 7);
      }
      if (!inside) this.chart.where = "";
      this.chart.tell();
    }

    setRange(low, high) {
      this.later = null;
      this.x.setv({start: low, end: high});
      this.moved();
    }

    // A linked axis has moved: what nobody sees follows once it is seen.
    followTo(low, high) {
      if (this.chart.seen) this.setRange(low, high); else this.later = [low, high];
    }

    catchUp() {
      if (!this.later || !this.x) return;
      this.link.moving = true;
      this.setRange(...this.later);
      this.link.moving = false;
    }

    moved() {
      if (this.link) show(this.link, this.x.start, this.x.end, this);
      this.chart.mind();
      if (this.waits) return;
      this.waits = true;
      requestAnimationFrame(() => { this.waits = false; this.refresh(); });
    }

    refresh() {
      const bins = Math.max(Math.round(this.place.clientWidth), 300);
      const reach = this.x.end - this.x.start;
      for (const one of this.lines) {
        // A little more than what is shown, so that panning shows no empty margin.
        one.source.data = one.samples.between(
          this.x.start - 0.2 * reach, this.x.end + 0.2 * reach, Math.round(1.4 * bins));
      }
    }

    // What is drawn has the width of the window: on paper, a picture takes its place.
    picture() {
      this.noPicture();
      if (!this.place.clientWidth) return; // in a closed part of the page
      if (!this.view) {
        this.chart.draw();
        this.printed = element("p", "printed about", "This plot was not drawn yet: print again.");
        this.place.after(this.printed);
        return;
      }
      this.refresh();
      const drawn = this.view.export("svg").canvas;
      drawn.setAttribute("viewBox", `0 0 ${drawn.getAttribute("width")} ${drawn.getAttribute("height")}`);
      drawn.classList.add("printed");
      this.printed = drawn;
      this.place.after(this.printed);
    }

    noPicture() {
      if (this.printed) this.printed.remove();
      this.printed = null;
    }

    toggle(name, visible) {
      for (const drawn of this.chart.drawn.get(name) || []) drawn.visible = visible;
    }
  }

  const PALETTE = VIRIDIS.slice(0, -1).flatMap((from, k) => Array.from({length: 32}, (_, part) =>
    "#" + [1, 3, 5].map(c => {
      const a = parseInt(from.slice(c, c + 2), 16), b = parseInt(VIRIDIS[k + 1].slice(c, c + 2), 16);
      return Math.round(a + (b - a) * part / 31).toString(16).padStart(2, "0");
    }).join("")));

  // --- one legend for all charts of a section ------------------------------------------------------
  class Legend {
    constructor(first) {
      this.charts = [];
      this.buttons = new Map();
      this.place = element("div", "legend");
      const section = groupOf(first);
      let before = first;
      while (before.parentElement !== section) before = before.parentElement;
      section.insertBefore(this.place, before);
    }

    add(chart) {
      this.charts.push(chart);
      for (const panel of chart.said.panels) {
        for (const mark of panel.marks) {
          if (mark.hidden) chart.hidden.add(mark.name);
          const titled = panel.title.startsWith(mark.name); // which says it all
          if (!titled && !this.buttons.has(mark.name)) this.button(mark);
        }
      }
      this.place.style.display = this.buttons.size > 1 ? "" : "none";
    }

    button(mark) {
      const button = element("button");
      button.type = "button";
      button.title = "show or hide";
      button.setAttribute("aria-pressed", String(!mark.hidden));
      const swatch = element("span", `swatch ${mark.kind}`);
      swatch.style.color = mark.color;
      if (mark.dash) swatch.classList.add("dashed");
      button.append(swatch, mark.name);
      button.addEventListener("click", () => {
        const visible = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(visible));
        for (const chart of this.charts) chart.toggle(mark.name, visible);
      });
      this.buttons.set(mark.name, button);
      this.place.append(button);
    }
  }

  function groupOf(figure) { // sections side by side have a legend each
    return figure.closest("section:not(.pair)") || figure.parentElement;
  }

  // --- a figure: buttons and plots -------------------------------------------------------------------
  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.said = JSON.parse(figure.querySelector("script").textContent);
      this.columns = new Columns(this.said.data);
      this.hidden = new Set();
      this.drawn = new Map();
      this.values = new Map();
      this.where = "";
      this.seen = false;
      this.begun = null;
      this.across = this.said.panels.map(p => p.x.label).find(Boolean) || "";
      this.place = element("div", "panels");
      if (this.said.columns > 1) this.place.classList.add("grid");
      this.panels = this.said.panels.map(said => {
        const cell = element("div", "cell");
        if (said.title) cell.append(element("p", "title", said.title));
        const place = element("div", "panel");
        place.style.minHeight = `${said.height}px`;
        cell.append(place);
        this.place.append(cell);
        return new Panel(this, said, place);
      });
      figure.append(this.tools(), this.place);
      if (this.said.envelope) {
        const [shown, count] = this.said.envelope.map(n => n.toLocaleString("en"));
        figure.append(element("p", "about",
          `Envelope of ${count} samples: drawn through ${shown}, among them the smallest and the largest of each stretch; the CSV files have all.`));
      }
    }

    tools() {
      const tools = element("div", "tools");
      this.reading = element("output", "reading");
      tools.append(this.reading);
      for (const [text, low, high] of this.said.jumps || []) {
        tools.append(this.jump(text, () => this.goTo(low, high)));
      }
      this.all = this.jump("show all", () => this.whole());
      this.all.style.visibility = "hidden";
      tools.append(this.all);
      return tools;
    }

    jump(text, act) {
      const button = element("button", "jump", text);
      button.type = "button";
      button.addEventListener("click", act);
      return button;
    }

    goTo(low, high) { for (const panel of this.panels) if (panel.x) panel.setRange(low, high); }

    whole() {
      for (const panel of this.panels) {
        if (!panel.x) continue;
        panel.y.setv({start: panel.said.y.low, end: panel.said.y.high});
        panel.setRange(panel.said.x.low, panel.said.x.high);
      }
    }

    mind() { // whether there is more than what is shown
      const parts = this.panels.some(
        p => p.x && (p.x.start !== p.said.x.low || p.x.end !== p.said.x.high));
      this.all.style.visibility = parts ? "visible" : "hidden";
    }

    named(mark, drawn) {
      if (!mark.name) return;
      if (!this.drawn.has(mark.name)) this.drawn.set(mark.name, []);
      this.drawn.get(mark.name).push(drawn);
    }

    toggle(name, visible) {
      if (visible) this.hidden.delete(name); else this.hidden.add(name);
      for (const panel of this.panels) panel.toggle(name, visible);
    }

    tell() { // the samples at the pointer
      const values = [...this.values].filter(([name, value]) => value && !this.hidden.has(name));
      this.reading.textContent = this.where && [
        `${this.across} ${this.where}`, ...values.map(([name, value]) => `${name} ${value}`),
      ].join(" · ");
    }

    catchUp() { for (const panel of this.panels) panel.catchUp(); }

    draw() {
      if (!this.begun) {
        this.begun = (async () => {
          for (const panel of this.panels) await panel.draw();
          this.figure.dataset.drawn = "yes";
        })();
      }
      return this.begun;
    }
  }

  // --- the library, packed, which runs because the policy names its hash ----------------------------
  async function library() {
    const packed = document.getElementById("library");
    const stream = new Blob([bytesOf(packed.textContent.trim())]).stream()
      .pipeThrough(new DecompressionStream("deflate"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    packed.remove();
    if (!window.Bokeh) throw new Error("the library for plots did not start");
  }

  async function begin() {
    const figures = [...document.querySelectorAll("figure.chart")];
    try {
      await library();
    } catch (error) {
      for (const figure of figures) {
        figure.append(element("p", "about", `This browser cannot draw the plot (${error.message}).`
          + " 'fmident report --static' writes it as a picture."));
      }
      return;
    }
    const charts = new Map(figures.map(figure => [figure, new Chart(figure)]));
    const legends = new Map();
    for (const [figure, chart] of charts) {
      const group = groupOf(figure);
      if (!legends.has(group)) legends.set(group, new Legend(figure));
      legends.get(group).add(chart);
    }
    const watcher = new IntersectionObserver(entries => {
      for (const entry of entries) {
        const chart = charts.get(entry.target);
        chart.seen = entry.isIntersecting;
        if (chart.seen) chart.draw().then(() => chart.catchUp());
      }
    }, {rootMargin: "400px"});
    for (const figure of figures) watcher.observe(figure);
    const panels = () => [...charts.values()].flatMap(c => c.panels);
    window.addEventListener("beforeprint", () => {
      for (const c of charts.values()) c.catchUp();
      for (const panel of panels()) panel.picture();
    });
    window.addEventListener("afterprint", () => { for (const panel of panels()) panel.noPicture(); });
    const rest = [...charts.values()];
    const idle = window.requestIdleCallback || (f => setTimeout(f, 50));
    const next = () => {
      const chart = rest.shift();
      if (!chart) return;
      // What a closed part of the page hides is drawn when it is opened.
      if (chart.figure.offsetParent === null) next(); else chart.draw().then(() => idle(next));
    };
    idle(next);
  }

  begin();
})();
