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
    this.folded = {};  // by the section's title; nothing: as it is by itself
    this.sections = Object.create(null);
    this.holder = el('div.holder');
    s.add(node, this.holder);
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
  // Metrics of how a run went, not of what it learned: as in view/metrics.cc.
  var RUNTIME = 'How it ran';
  s.ofTheRuntime = function (name) { return /(^|\/)([^\/]*_per_second|[^\/]*_runtime|total_flos|v_num|hp_metric)$/.test(name); };
  // What stands before the first slash, or one of the words that trainers put in front.
  function prefixOf(name) {
    var words = /^(train|training|val|valid|validation|eval|test)_/.exec(name), slash = name.indexOf('/');
    return slash > 0 ? name.slice(0, slash) : words ? words[1] : '';
  }
  // [{title, names}]: a prefix that only one metric has is none; the first section is that of the
  // first name, and that of the runtime the last.
  function sectionsOf(names) {
    var count = Object.create(null), found = new Map(), last = [];
    names.forEach(function (n) { var p = prefixOf(n); count[p] = (count[p] || 0) + 1; });
    names.forEach(function (n) {
      if (s.ofTheRuntime(n)) { last.push(n); return; }
      var p = prefixOf(n), title = count[p] > 1 ? p : '';
      if (!found.has(title)) found.set(title, []);
      found.get(title).push(n);
    });
    var out = [];
    found.forEach(function (all, title) { out.push({title: title, names: all}); });
    if (last.length) out.push({title: RUNTIME, names: last, runtime: true});
    return out;
  }
  // Charts for these names, in this order; others go. Sections fold; what is folded has no charts.
  proto.show = function (names) {
    var self = this, find = (this.view.find || '').toLowerCase();
    var sections = sectionsOf(names.filter(function (n) { return n.toLowerCase().indexOf(find) >= 0; }).slice(0, MOST));
    var wanted = [];
    this.names = names;
    sections.forEach(function (section) {
      var folded = self.folded[section.title];
      section.open = find !== '' || sections.length < 2 || !(folded === undefined ? section.runtime : folded);
      if (section.open) wanted = wanted.concat(section.names);
    });
    Object.keys(this.charts).forEach(function (name) {
      if (wanted.indexOf(name) >= 0) return;
      self.seer.unobserve(self.charts[name].node);
      self.charts[name].node.remove();
      self.charts[name].end();
      delete self.charts[name];
    });
    Object.keys(this.sections).forEach(function (title) {
      if (sections.some(function (one) { return one.title === title; })) return;
      self.sections[title].node.remove();
      delete self.sections[title];
    });
    sections.forEach(function (section, at) {
      var place = self.section(section, sections.length > 1);
      if (self.holder.children[at] !== place.node) self.holder.insertBefore(place.node, self.holder.children[at] || null);
      if (section.open) section.names.forEach(function (name, i) {
        if (!self.charts[name]) self.charts[name] = self.make(name);
        var node = self.charts[name].node;
        if (place.grid.children[i] !== node) place.grid.insertBefore(node, place.grid.children[i] || null);
      });
    });
    if (!sections.length) {
      s.empty(this.holder);
      s.add(this.holder, el('div.panel.note', names.length ? 'No metric is called so.' :
          'No metrics are known. Anything may append {"step": 3, "loss": 0.1} to the file $STOKER_METRICS; TensorBoard\'s files, metrics.csv and the log are read as they are.'));
    } else {
      var note = this.holder.querySelector('.note');
      if (note) note.remove();
    }
  };
  // Where a section's charts are, and its head, which folds it.
  proto.section = function (section, titled) {
    var self = this, title = section.title, place = this.sections[title];
    if (!place) {
      place = this.sections[title] = {grid: el('div.charts'), head: el('button.quiet.fold', {type: 'button'})};
      place.node = el('section', {'aria-label': 'Metrics: ' + s.clean(title || 'others', 80)}, place.head, place.grid);
      place.head.addEventListener('click', function () {
        self.folded[title] = place.head.getAttribute('aria-expanded') === 'true';
        self.show(self.names);
      });
    }
    place.head.hidden = !titled;
    place.head.setAttribute('aria-expanded', String(section.open));
    s.empty(place.head);
    s.add(place.head, [section.open ? '▾ ' : '▸ ', s.text(title || 'Metrics', 80), el('span.dim', ' ' + section.names.length)]);
    place.grid.hidden = !section.open;
    return place;
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
    var self = this, view = this.view, lines = [], several = this.runs.length > 1, whole = null;
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
      Object.assign(line, {colour: run.colour, name: several ? run.name : chart.name, soft: s.smooth(line.value, view.smooth)});
      var parts = several ? [] : s.byAttempt(line, 24);
      if (parts.length < 2) { lines.push(line); return; }
      whole = line;
      parts.forEach(function (part, k) { lines.push(Object.assign(part, {colour: s.tint(run.colour, k + 1, parts.length)})); });
    });
    chart.draw(lines, view, whole);
  };
  function fade(colour, strength) {
    var n = parseInt(colour.slice(1), 16);
    return 'rgba(' + (n >> 16) + ',' + ((n >> 8) & 255) + ',' + (n & 255) + ',' + strength + ')';
  }

  // The machine's curves of one run, by time of day. Drawn into `node`.
  s.machineCurves = function (node, courses, bus) {
    var charts = [], view = {x: 'time', smooth: 0, log: false};
    var newest = Math.max.apply(null, courses.map(function (course) { return course.attempt; }));
    var add = function (title, format, pick) {
      var lines = [];
      courses.forEach(function (course) {
        pick(course).forEach(function (line) {
          var times = course.at_ms.map(function (t) { return course.begun + t; });
          var value = line.values.map(function (v) { return v === undefined ? null : v; });
          if (!value.some(function (v) { return v !== null; })) return;
          lines.push({x: times, time: times, value: value, colour: s.tint(s.colour(course.node + (line.index || 0)), course.attempt, newest),
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
    var percent = function (v, more) { return (more ? s.number(v, more) : s.number(Math.round(v * 10) / 10)) + ' %'; };
    add('GPU busy', percent, gpus('busy_percent'));
    add('GPU memory', function (v, more) { return s.bytes(v * 1048576, more); }, gpus('memory_used_mib'));
    add('GPU power', function (v, more) { return s.number(v, more) + ' W'; }, gpus('power_w'));
    add('GPU temperature', function (v, more) { return s.number(v, more) + ' °C'; }, gpus('temperature_c'));
    add('CPU cores', function (v, more) { return more ? s.number(v, more) : s.number(Math.round(v * 100) / 100); }, function (c) { return [{values: c.cpu_cores}]; });
    add('Memory of the program', s.bytes, function (c) { return [{values: c.resident_bytes}]; });
    add('Bytes in the work directory', s.bytes, function (c) { return [{values: c.work_bytes || []}]; });
    add('Network of the machine', function (v, more) { return s.bytes(v, more) + '/s'; }, function (c) {
      return [{values: c.received_per_s || [], name: ', received'}, {values: c.sent_per_s || [], index: 1, name: ', sent'}];
    });
    return charts;
  };
})(stoker);
