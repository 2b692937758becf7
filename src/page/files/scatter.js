// SPDX-License-Identifier: Apache-2.0
// Many runs at once: parallel coordinates of what they were given against what came of it, and a
// scatter of any two things. A run is one colour in all of them.
'use strict';
(function (s) {
  // Few values are written as they are, where there is room between them.
  function ticksOf(known, low, span, f, log) {
    if (!span) return known.length ? [[0.5, s.number(low)]] : [];
    var values = Array.from(new Set(known)).sort(function (a, b) { return a - b; });
    var places = values.map(function (v) { return (f(v) - f(low)) / span; });
    var apart = places.every(function (p, i) { return i === 0 || p - places[i - 1] > 0.06; });
    if (values.length <= 7 && apart) return values.map(function (v, i) { return [places[i], s.number(v)]; });
    return [0, 0.25, 0.5, 0.75, 1].map(function (p) {
      var v = f(low) + p * span;
      return [p, s.number(Number((log ? Math.pow(10, v) : v).toPrecision(3)))];
    });
  }
  // A scale for the values of one field: numbers by size (by magnitude where they span much), texts
  // side by side.
  s.scale = function (values) {
    var known = values.filter(function (v) { return v !== undefined && v !== null && v !== '' && !(typeof v === 'number' && !isFinite(v)); });
    if (known.length && known.every(function (v) { return typeof v === 'number'; })) {
      var low = Math.min.apply(null, known), high = Math.max.apply(null, known);
      var log = low > 0 && high / low >= 30;
      var f = log ? Math.log10 : Number;
      var span = f(high) - f(low);
      return {at: function (v) { return typeof v !== 'number' || !isFinite(v) ? null : span ? (f(v) - f(low)) / span : 0.5; }, log: log,
              ticks: ticksOf(known, low, span, f, log)};
    }
    var texts = Array.from(new Set(known.map(String))).sort();
    var place = function (t) { return texts.length > 1 ? texts.indexOf(t) / (texts.length - 1) : 0.5; };
    return {at: function (v) { return v === undefined || v === null || v === '' ? null : place(String(v)); },
            ticks: texts.slice(0, 12).map(function (t) { return [place(t), s.clean(t, 18)]; })};
  };
  function valueText(v) { return typeof v === 'number' ? s.number(v) : s.clean(v, 40); }
  function names(runs, fields) {
    return function (run) {
      return (run.row.name || run.id) + ' (' + run.id + ')\n' + fields.map(function (f) { return f + ': ' + valueText(s.field(run.row, f)); }).join('\n');
    };
  }

  s.parallel = function (runs, fields, titleOf) {
    var width = Math.max(s.room(1640), fields.length * 125), height = 300, top = 34, bottom = 16, left = 60, right = 60;
    var svg = s.svg('svg', {'class': 'plot', width: width, height: height, role: 'img', 'aria-label': 'Parallel coordinates of ' + runs.length + ' runs'});
    var x = function (i) { return fields.length > 1 ? left + i * (width - left - right) / (fields.length - 1) : width / 2; };
    var y = function (p) { return top + (1 - p) * (height - top - bottom); };
    var scales = fields.map(function (f) { return s.scale(runs.map(function (r) { return s.field(r.row, f); })); });
    var say = names(runs, fields), marks = s.svg('g', {'class': 'marks'});
    runs.forEach(function (run) {
      var d = '', last = null;
      fields.forEach(function (f, i) {
        var p = scales[i].at(s.field(run.row, f));
        if (p === null) { last = null; return; }
        var to = [x(i), y(p)], bend = (x(1) - x(0)) * 0.4;
        // Curves can be followed through an axis where many meet.
        d += last ? 'C' + [last[0] + bend, last[1], to[0] - bend, to[1], to[0], to[1]].map(function (n) { return n.toFixed(1); }).join(' ')
          : 'M' + to[0].toFixed(1) + ' ' + to[1].toFixed(1);
        last = to;
      });
      var path = s.svg('path', {'class': 'run', d: d, stroke: run.colour}, s.svg('title', {}, s.clean(say(run), 2000)));
      path.addEventListener('click', function () { location.hash = '#/job/' + run.id; });
      path.addEventListener('mouseenter', function () { if (path.nextSibling !== marks) svg.insertBefore(path, marks); });
      s.add(svg, path);
    });
    s.add(svg, marks);
    fields.forEach(function (f, i) {
      s.add(marks, s.svg('line', {'class': 'axis', x1: x(i), x2: x(i), y1: top, y2: height - bottom}));
      s.add(marks, s.svg('text', {'class': 'axisname', x: x(i), y: 14, 'text-anchor': 'middle'}, s.clean(titleOf(f), 22) + (scales[i].log ? ' (log)' : '')));
      scales[i].ticks.forEach(function (t) {
        s.add(marks, s.svg('text', {x: x(i) + 5, y: y(t[0]) + 4}, t[1]));
      });
    });
    return svg;
  };

  s.scatter = function (runs, fx, fy, titleOf) {
    var width = s.room(Math.max(320, (document.getElementById('main').clientWidth - 46) * (window.innerWidth > 900 ? 0.55 : 1) - 30)), height = 340, top = 12, bottom = 40, left = 70, right = 16;
    var svg = s.svg('svg', {'class': 'plot', width: width, height: height, role: 'img', 'aria-label': 'Scatter of ' + runs.length + ' runs'});
    var sx = s.scale(runs.map(function (r) { return s.field(r.row, fx); })), sy = s.scale(runs.map(function (r) { return s.field(r.row, fy); }));
    var x = function (p) { return left + (0.03 + 0.94 * p) * (width - left - right); }, y = function (p) { return top + (0.97 - 0.94 * p) * (height - top - bottom); };
    s.add(svg, [s.svg('line', {'class': 'axis', x1: left, x2: left, y1: top, y2: height - bottom}), s.svg('line', {'class': 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom})]);
    sx.ticks.forEach(function (t) { s.add(svg, s.svg('text', {x: x(t[0]), y: height - bottom + 15, 'text-anchor': 'middle'}, t[1])); });
    sy.ticks.forEach(function (t) { s.add(svg, s.svg('text', {x: left - 6, y: y(t[0]) + 4, 'text-anchor': 'end'}, t[1])); });
    s.add(svg, s.svg('text', {'class': 'axisname', x: (left + width) / 2, y: height - 6, 'text-anchor': 'middle'}, s.clean(titleOf(fx), 50) + (sx.log ? ' (log)' : '')));
    s.add(svg, s.svg('text', {'class': 'axisname', x: 12, y: (top + height - bottom) / 2, 'text-anchor': 'middle', transform: 'rotate(-90 12 ' + (top + height - bottom) / 2 + ')'}, s.clean(titleOf(fy), 40) + (sy.log ? ' (log)' : '')));
    var say = names(runs, [fx, fy]);
    runs.forEach(function (run) {
      var px = sx.at(s.field(run.row, fx)), py = sy.at(s.field(run.row, fy));
      if (px === null || py === null) return;
      var dot = s.svg('circle', {cx: x(px), cy: y(py), r: 6, fill: run.colour}, s.svg('title', {}, s.clean(say(run), 1000)));
      dot.addEventListener('click', function () { location.hash = '#/job/' + run.id; });
      s.add(svg, dot);
    });
    return svg;
  };
})(stoker);
