// SPDX-License-Identifier: Apache-2.0
// Curves of one run or several: which are asked for, how they are drawn, and the machine's curves
// under the same cursor. Only what is on the screen is asked for and drawn.
'use strict';
(function (s) {
  var el = s.el, MOST = 400;

  var marks = [['step', 'Step'], ['time', 'Time of day'], ['rel', 'Time of the run']];
  // The bar of choices; `view` is changed in place.
  s.curveBar = function (view, changed, more) {
    var x = el('select', {'aria-label': 'Horizontal axis'}, marks.map(function (m) { return el('option', {value: m[0]}, m[1]); }));
    x.value = view.x;
    x.addEventListener('change', function () { view.x = x.value; changed(true); });
    var weight = el('input', {type: 'range', min: '0', max: '0.99', step: '0.01', 'aria-label': 'Smoothing'});
    weight.value = view.smooth;
    var says = el('span.dim', 'Smoothing ' + view.smooth);
    weight.addEventListener('input', function () { view.smooth = Number(weight.value); says.textContent = 'Smoothing ' + view.smooth; changed(false); });
    var find = el('input', {type: 'search', placeholder: 'Metrics by name', 'aria-label': 'Find metrics', value: view.find || ''});
    find.addEventListener('input', s.later(100, function () { view.find = find.value; changed(true); }));
    var box = function (name, label) {
      var made = el('input', {type: 'checkbox', checked: !!view[name]});
      made.addEventListener('change', function () { view[name] = made.checked; changed(name === 'redone'); });
      return el('label.check', made, label);
    };
    var zoom = el('button', {type: 'button'}, 'All of it');
    zoom.title = 'Ends the zoom, as a double click does';
    zoom.addEventListener('click', function () { view.bus.zoom(null); });
    return el('div.bar', find, x, el('label.check', says, weight), box('log', 'Log scale'), more && more.redone ? box('redone', 'What was done again') : null, zoom);
  };

  // runs: [{id, name, colour, node}], names: series that there are.
  s.Curves = function (node, runs, view) {
    this.node = node;
    this.runs = runs;
    this.view = view;
    this.charts = Object.create(null);
    this.wide = {};
    this.grid = el('div.charts');
    s.add(node, this.grid);
    var self = this;
    this.seer = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        var chart = entry.target.chart;
        chart.seen = entry.isIntersecting;
        if (chart.seen && chart.stale) self.load(chart);
      });
    }, {rootMargin: '200px'});
    this.resized = s.later(120, function () { self.each(function (c) { c.resize(); }); });
    window.addEventListener('resize', this.resized);
  };
  var proto = s.Curves.prototype;
  proto.each = function (work) { Object.keys(this.charts).forEach(function (n) { work(this.charts[n]); }, this); };
  proto.end = function () {
    this.seer.disconnect();
    window.removeEventListener('resize', this.resized);
    this.each(function (c) { c.end(); });
  };
  // Charts for these names, in this order; others go.
  proto.show = function (names) {
    var self = this, find = (this.view.find || '').toLowerCase();
    var wanted = names.filter(function (n) { return n.toLowerCase().indexOf(find) >= 0; }).slice(0, MOST);
    Object.keys(this.charts).forEach(function (name) {
      if (wanted.indexOf(name) >= 0) return;
      self.seer.unobserve(self.charts[name].node);
      self.charts[name].node.remove();
      self.charts[name].end();
      delete self.charts[name];
    });
    wanted.forEach(function (name, i) {
      if (!self.charts[name]) self.charts[name] = self.make(name);
      var node = self.charts[name].node;
      if (self.grid.children[i] !== node) self.grid.insertBefore(node, self.grid.children[i] || null);
    });
    if (!wanted.length) {
      s.empty(this.grid);
      s.add(this.grid, el('div.panel.note', names.length ? 'No metric is called so.' :
          'No metrics are known. Anything may append {"step": 3, "loss": 0.1} to the file $STOKER_METRICS; TensorBoard\'s files, metrics.csv and the log are read as they are.'));
    } else {
      var note = this.grid.querySelector('.note');
      if (note) note.remove();
    }
  };
  proto.make = function (name) {
    var self = this;
    var large = el('button.quiet', {type: 'button', 'aria-label': 'Large or small: ' + s.clean(name, 80), 'aria-pressed': 'false'}, '⤢');
    var chart = new s.Chart(this.view.bus, {title: name, buttons: large, zoomed: s.later(200, function () { self.load(chart); })});
    chart.name = name;
    chart.stale = true;
    chart.node.chart = chart;
    large.addEventListener('click', function () {
      var on = chart.node.classList.toggle('wide');
      large.setAttribute('aria-pressed', String(on));
      chart.resize();
    });
    this.seer.observe(chart.node);
    return chart;
  };
  // New facts, or another way of looking.
  proto.refresh = function (ask) {
    var self = this;
    this.each(function (chart) {
      if (!ask && chart.got) { self.paint(chart); return; }
      chart.stale = true;
      if (chart.seen) self.load(chart);
    });
  };
  proto.load = function (chart) {
    if (chart.loading) { chart.again = true; return; }
    chart.loading = true;
    chart.stale = false;
    var self = this, range = this.view.bus.range;
    var query = {names: JSON.stringify([chart.name]), px: Math.max(300, Math.round(chart.canvas.clientWidth || 500))};
    if (range && range.x !== 'rel') {
      query.by = range.x;
      var margin = (range.to - range.from) * 0.02;
      query.from = Math.floor(range.from - margin);
      query.to = Math.ceil(range.to + margin);
    }
    Promise.all(this.runs.map(function (run) {
      return s.data.series(run.id, Object.assign({node: run.node || 0}, query)).then(function (got) { return got.series[0] || null; }, function () { return null; });
    })).then(function (all) {
      chart.loading = false;
      // What is outside of the zoom is drawn by the last look at the whole.
      if (!range) chart.whole = all;
      chart.got = all;
      self.paint(chart);
      if (chart.again) { chart.again = false; self.load(chart); }
    });
  };
  proto.paint = function (chart) {
    var self = this, view = this.view, lines = [], several = this.runs.length > 1;
    this.runs.forEach(function (run, i) {
      var one = chart.got[i];
      if (!one || !one.step.length) return;
      var begun = one.time[0];
      if (view.redone) {
        s.redoneOf(one, view.x, begun).forEach(function (again, k) {
          lines.push(Object.assign(again, {colour: fade(run.colour, 0.7), pale: true, name: k || several ? '' : 'done again'}));
        });
      }
      var line = s.lineOf(one, view.x, begun);
      if (view.smooth && self.runs.length <= 6) lines.push(Object.assign({}, line, {colour: fade(run.colour, 0.35), pale: true, raw: true}));
      lines.push(Object.assign(line, {colour: run.colour, name: several ? run.name : chart.name}));
    });
    chart.draw(lines, view);
  };
  function fade(colour, strength) {
    var n = parseInt(colour.slice(1), 16);
    return 'rgba(' + (n >> 16) + ',' + ((n >> 8) & 255) + ',' + (n & 255) + ',' + strength + ')';
  }

  // The machine's curves of one run, by time of day. Drawn into `node`.
  s.machineCurves = function (node, courses, bus) {
    var charts = [], view = {x: 'time', smooth: 0, log: false};
    var add = function (title, format, pick) {
      var lines = [];
      courses.forEach(function (course) {
        pick(course).forEach(function (line) {
          var times = course.at_ms.map(function (t) { return course.begun + t; });
          var value = line.values.map(function (v) { return v === undefined ? null : v; });
          if (!value.some(function (v) { return v !== null; })) return;
          lines.push({x: times, time: times, value: value, colour: s.colour(course.node + (line.index || 0)),
                      name: 'attempt ' + course.attempt + (course.node ? ', node ' + course.node : '') + (line.name || '')});
        });
      });
      if (!lines.length) return;
      var chart = new s.Chart(bus, {title: title, format: format, peak: true});
      s.add(node, chart.node);
      chart.draw(lines, view);
      chart.redraw = function () { chart.draw(lines, view); };
      charts.push(chart);
    };
    var gpus = function (column) {
      return function (course) {
        return (course.gpus || []).map(function (gpu, i) {
          return {values: gpu[column] || [], index: i, name: course.gpus.length > 1 ? ', GPU ' + i : ''};
        });
      };
    };
    var percent = function (v) { return s.number(Math.round(v * 10) / 10) + ' %'; };
    add('GPU busy', percent, gpus('busy_percent'));
    add('GPU memory', function (v) { return s.bytes(v * 1048576); }, gpus('memory_used_mib'));
    add('GPU power', function (v) { return s.number(v) + ' W'; }, gpus('power_w'));
    add('GPU temperature', function (v) { return s.number(v) + ' °C'; }, gpus('temperature_c'));
    add('CPU cores', function (v) { return s.number(Math.round(v * 100) / 100); }, function (c) { return [{values: c.cpu_cores}]; });
    add('Memory of the program', s.bytes, function (c) { return [{values: c.resident_bytes}]; });
    add('Bytes in the work directory', s.bytes, function (c) { return [{values: c.work_bytes || []}]; });
    add('Network of the machine', function (v) { return s.bytes(v) + '/s'; }, function (c) {
      return [{values: c.received_per_s || [], name: ', received'}, {values: c.sent_per_s || [], index: 1, name: ', sent'}];
    });
    return charts;
  };
})(stoker);
