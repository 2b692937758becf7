// SPDX-License-Identifier: Apache-2.0
// One chart: lines of runs with the band of what each bucket holds, drawn by dygraphs. Names never
// reach the library, which writes its labels as markup: it knows lines as "0", "1", ….
'use strict';
(function (s) {
  var el = s.el;
  // It measures itself with a style that the page's policy forbids, and nobody would see it.
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter(function (plugin) { return plugin !== Dygraph.Plugins.Legend; });

  // What charts of one view share: the cursor and the range.
  s.Bus = function () { this.charts = []; this.range = null; };
  s.Bus.prototype.cursor = function (from, at) {
    this.charts.forEach(function (chart) { chart.showCursor(at, chart === from); });
  };
  s.Bus.prototype.zoom = function (range) {
    this.range = range;
    this.charts.forEach(function (chart) { chart.onZoom(range); });
  };

  s.smooth = function (values, weight) {  // as an exponential mean without the bias of its beginning
    if (!weight) return values;
    var last = 0, norm = 0;
    return values.map(function (value) {
      if (value === null || !isFinite(value)) return value;
      last = last * weight + (1 - weight) * value;
      norm = norm * weight + (1 - weight);
      return last / norm;
    });
  };
  // Ticks whose labels differ: with more digits where they must, and the last resort is none.
  function ticker(format) {
    return function (a, b, pixels, opts, graph, vals) {
      var ticks = Dygraph.numericTicks(a, b, pixels, opts, graph, vals), known, alike;
      var said = ticks.filter(function (t) { return t.label !== undefined && t.label !== ''; });
      for (var more = 0; more <= 8; ++more) {
        known = Object.create(null);
        alike = false;
        said.forEach(function (t) {
          t.label = format(t.v, more);
          if (known[t.label]) { alike = true; if (more === 8) t.label = ''; }
          known[t.label] = 1;
        });
        if (!alike) break;
      }
      return ticks;
    };
  }

  // line: {x: […], time: […], value: […], soft: […], low: […], high: […], colour, name, pale}; `soft`:
  // smoothed already. Where several lines are one run, `options.read` is the whole of it.
  s.Chart = function (bus, options) {
    this.bus = bus;
    this.options = options;
    this.read = el('span.read');
    this.canvas = el('div.canvas');
    this.line = el('div.cursor', {hidden: true});
    this.legend = el('div.legend');
    this.title = el('h3', {title: s.clean(options.title)}, s.text(options.title, 160));
    this.node = el('section.panel.chart', {'aria-label': 'Curve of ' + s.clean(options.title, 120)},
                   el('div.headline', this.title, this.read, options.buttons || null), this.canvas, this.legend);
    this.lines = [];
    this.marks = [];
    bus.charts.push(this);
  };
  var proto = s.Chart.prototype;

  proto.draw = function (lines, view, read) {
    if (!this.node.isConnected) return;  // somebody has gone on to another view
    this.lines = lines;
    this.run = read || null;
    this.view = view;
    var rows = this.rows(lines, view), self = this;
    if (!rows.finite) {
      if (this.graph) { this.graph.destroy(); this.graph = null; }
      s.empty(this.canvas);
      var values = Array.from(new Set(this.oddAt.map(function (o) { return s.number(o.value); })));
      s.add(this.canvas, el('div.state' + (values.length ? '.bad' : ''), values.length ? '× ' + values.join(' and ') + ' throughout' : 'nothing to draw'));
      this.say(null);
      this.drawLegend();
      return;
    }
    if (this.alone(lines)) { this.drawAlone(lines, view); return; }
    var grid = s.style('--grid'), options = {
      file: rows.data, labels: ['x'].concat(lines.map(function (l, i) { return String(i); })),
      customBars: rows.bars, colors: lines.map(function (l) { return l.colour; }),
      logscale: !!view.log && rows.positive, connectSeparatedPoints: true, strokeWidth: 1.5,
      fillAlpha: Number(s.style('--band')) || 0.16, gridLineColor: grid, axisLineColor: grid,
      highlightCircleSize: 0, legend: 'never', rightGap: 8, axisLineWidth: 1,
      axes: {
        x: {drawGrid: false, valueFormatter: String, pixelsPerLabel: 70, ticker: view.x === 'time' ? Dygraph.dateTicker : ticker(view.x === 'rel' ? minutes : s.number)},
        y: {axisLabelWidth: 54, pixelsPerLabel: 36, ticker: ticker(this.options.format || s.number)},
      },
      series: {},
    };
    lines.forEach(function (line, i) {
      options.series[String(i)] = {strokeWidth: line.raw ? 1 : line.pale ? 1.3 : 1.6, strokePattern: line.pale && !line.raw ? [4, 3] : null, drawPoints: line.x.length === 1, pointSize: 3};
    });
    if (this.graph && this.kind !== view.x) { this.graph.destroy(); this.graph = null; }
    this.kind = view.x;
    options.dateWindow = this.bus.range && this.bus.range.x === view.x ? [this.bus.range.from, this.bus.range.to] : null;
    if (view.x === 'time') options.axes.x.axisLabelFormatter = Dygraph.dateAxisLabelFormatter;
    if (!this.graph) {
      s.empty(this.canvas);
      this.graph = new Dygraph(this.canvas, rows.data, Object.assign({}, options, {
        file: undefined,
        highlightCallback: function (event, x) { self.bus.cursor(self, self.whereIs(x)); },
        unhighlightCallback: function () { self.bus.cursor(self, null); },
        zoomCallback: function (from, to) {
          var all = self.graph.xAxisExtremes();
          var whole = from <= all[0] && to >= all[1];
          self.bus.zoom(whole ? null : {x: self.view.x, from: from, to: to});
        },
        drawCallback: function () { self.mark(); },
        interactionModel: self.interaction(),
      }));
      s.add(this.canvas, this.line);
      this.canvas.querySelectorAll('canvas').forEach(function (c) { c.setAttribute('aria-hidden', 'true'); });
    } else {
      this.graph.updateOptions(options);
    }
    this.mark();
    this.say(null);
    this.drawLegend();
  };
  // Whether no line has more than one point: then there is no course to draw.
  proto.alone = function (lines) {
    return lines.every(function (line) { return line.pale || line.x.length < 2; }) && lines.some(function (line) { return !line.pale && line.x.length; });
  };
  // One point is a dot with its value; those of several runs are bars.
  proto.drawAlone = function (lines, view) {
    var format = this.options.format || s.number, shown = lines.filter(function (l) { return !l.pale && l.x.length; });
    if (this.graph) { this.graph.destroy(); this.graph = null; }
    this.marks = [];
    s.empty(this.canvas);
    s.empty(this.legend);
    s.empty(this.read);
    this.kind = view.x;
    if (shown.length === 1) {
      var dot = el('span.dot');
      dot.style.background = shown[0].colour;
      s.add(this.canvas, el('div.state.single', el('div', dot, el('b', format(shown[0].value[0])), el('span.dim', ' at step ' + s.number(shown[0].step ? shown[0].step[0] : shown[0].x[0])))));
      return;
    }
    var finite = shown.map(function (l) { return l.value[0]; }).filter(isFinite);
    var low = Math.min.apply(null, finite.concat(0)), high = Math.max.apply(null, finite.concat(0));
    s.add(this.canvas, el('div.bars', {tabindex: '0', role: 'group', 'aria-label': 'One value of each run'}, shown.map(function (line) {
      var bar = el('span.bar-of'), value = line.value[0];
      bar.style.background = line.colour;
      bar.style.width = (isFinite(value) && high > low ? Math.abs(value) / (high - low) * 100 : 0) + '%';
      bar.style.marginLeft = (isFinite(value) && high > low ? (Math.min(value, 0) - low) / (high - low) * 100 : 0) + '%';
      return el('div.one', el('span.of', {title: s.clean(line.name)}, s.text(line.name, 60)), el('span.is', bar), el('span.num', format(value)));
    })));
  };
  // Fingers scroll the page; the mouse draws a range.
  proto.interaction = function () {
    var model = Object.assign({}, Dygraph.defaultInteractionModel);
    delete model.touchstart; delete model.touchmove; delete model.touchend;
    model.dblclick = function (event, g, context) { Dygraph.defaultInteractionModel.dblclick(event, g, context); };
    return model;
  };
  // All lines over one x: what a line has not is null. Above six lines without their bands.
  proto.rows = function (lines, view) {
    var bars = lines.length <= 6 || !!this.run && lines.length <= 30, at = new Map(), positive = true, odd = [], finite = 0;
    lines.forEach(function (line, i) {
      var values = line.soft || s.smooth(line.value, line.pale ? 0 : view.smooth), plain = view.smooth && !line.pale;
      for (var k = 0; k < line.x.length; ++k) {
        var value = values[k];
        if (line.value[k] === null) continue;
        var row = at.get(line.x[k]);
        if (!row) {
          row = [view.x === 'time' ? new Date(line.x[k]) : line.x[k]];
          for (var n = 0; n < lines.length; ++n) row.push(bars ? [null, null, null] : null);
          at.set(line.x[k], row);
        }
        if (!isFinite(line.value[k])) {
          if (!line.raw) odd.push({x: line.x[k], value: line.value[k]});
          continue;
        }
        ++finite;
        if (value <= 0) positive = false;
        var low = line.low && isFinite(line.low[k]) ? line.low[k] : value, high = line.high && isFinite(line.high[k]) ? line.high[k] : value;
        if (view.log && low <= 0) low = value;
        if (plain) low = high = value;  // the band is that of the pale line behind it
        row[i + 1] = bars ? [Math.min(low, value), value, Math.max(high, value)] : value;
      }
    });
    this.oddAt = odd;
    var data = Array.from(at.keys()).sort(function (a, b) { return a - b; }).map(function (x) { return at.get(x); });
    return {data: data, bars: bars, positive: positive, finite: finite};
  };
  // Where values are not finite: they matter most.
  proto.mark = function () {
    var self = this;
    this.marks.forEach(function (m) { m.remove(); });
    this.marks = [];
    if (!this.graph || !this.oddAt) return;
    var range = this.graph.xAxisRange(), last = -99;
    this.oddAt.slice(0, 5000).forEach(function (o) {
      if (o.x < range[0] || o.x > range[1] || self.marks.length > 60) return;
      var left = self.graph.toDomXCoord(o.x);
      if (Math.abs(left - last) < 7) return;
      last = left;
      var m = el('span.odd', {title: s.number(o.value) + ' at ' + s.number(o.x)}, '×');
      m.style.left = left + 'px';
      self.canvas.appendChild(m);
      self.marks.push(m);
    });
  };
  function minutes(x, more) { return more && x * 60 % 1 ? s.number(x * 60, more) + 's' : s.duration(x * 60000); }
  function nearest(list, x) {
    var low = 0, high = list.length - 1;
    while (high - low > 1) { var mid = (low + high) >> 1; if (list[mid] < x) low = mid; else high = mid; }
    return high < 0 ? -1 : Math.abs(list[low] - x) <= Math.abs(list[high] - x) ? low : high;
  }
  // As a step and a time, so that charts over either follow.
  proto.whereIs = function (x) {
    var line = this.shown()[0];
    if (!line) return null;
    var i = nearest(line.x, x);
    return {x: x, kind: this.kind, step: line.step ? line.step[i] : undefined, time: this.kind === 'time' ? Number(x) : line.time ? line.time[i] : undefined};
  };
  proto.showCursor = function (at) {
    if (!this.graph || !at) { this.line.hidden = true; this.say(null); return; }
    var x = at.x;
    if (at.kind !== this.kind) {
      var line = this.run || this.lines[0];
      if (this.kind === 'time') x = at.time;
      else if (line && line.time && at.time !== undefined) x = line.x[nearest(line.time, at.time)];
      else x = undefined;
    }
    var range = this.graph.xAxisRange();
    if (x === undefined || x < range[0] || x > range[1]) { this.line.hidden = true; return; }
    this.line.hidden = false;
    this.line.style.left = this.graph.toDomXCoord(x) + 'px';
    this.say(x);
  };
  proto.shown = function () {
    return this.run ? [this.run] : this.lines.filter(function (l) { return !l.pale && l.x.length; });
  };
  proto.say = function (x) {
    var self = this, format = this.options.format || s.number;
    s.empty(this.read);
    var shown = this.shown();
    if (this.options.peak && (x === null || x === undefined) && shown.length) {
      var most = -Infinity;
      shown.forEach(function (line) { line.value.forEach(function (v) { if (v !== null && v > most) most = v; }); });
      if (isFinite(most)) s.add(this.read, 'peak ' + format(most));
      return;
    }
    shown.slice(0, 3).forEach(function (line) {
      var i = x === null || x === undefined ? line.x.length - 1 : nearest(line.x, x);
      s.add(self.read, [shown.length > 1 ? self.swatch(line) : null, format(line.value[i]), shown.length > 1 ? '  ' : null]);
    });
    if (shown.length && x !== null && x !== undefined && this.kind === 'step') s.add(this.read, ' at ' + s.number(x));
  };
  proto.swatch = function (line) {
    var made = el('span.swatch');
    made.style.background = line.colour;
    return made;
  };
  proto.drawLegend = function () {
    var self = this;
    s.empty(this.legend);
    var named = this.lines.filter(function (l) { return l.name; });
    if (named.length < 2) return;
    named.slice(0, 24).forEach(function (line) {
      s.add(self.legend, el('span', self.swatch(line), s.text(line.name, 60)));
    });
    if (named.length > 24) s.add(this.legend, el('span', 'and ' + (named.length - 24) + ' more'));
  };
  proto.onZoom = function (range) {
    if (!this.graph) return;
    var mine = range && range.x === this.kind ? [range.from, range.to] : null;
    this.graph.updateOptions({dateWindow: mine});
    if (this.options.zoomed) this.options.zoomed(range);
  };
  proto.resize = function () { if (this.graph) this.graph.resize(); };
  proto.end = function () {
    var self = this;
    if (this.graph) this.graph.destroy();
    this.graph = null;
    this.bus.charts = this.bus.charts.filter(function (c) { return c !== self; });
  };
})(stoker);
