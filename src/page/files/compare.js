// SPDX-License-Identifier: Apache-2.0
// Several runs side by side: what sets them apart, what came of it, and their curves over another.
'use strict';
(function (s) {
  var el = s.el, MOST = 60;

  // Nobody says whether more is better; names do.
  s.lowerIsBetter = function (metric) { return /loss|err|perplex|ppl|mse|mae|rmse|wer|cer|nll|time|latency/i.test(metric); };
  function title(f) { return f.replace(/^(hp|m)\./, '').replace(/^(min|max)\./, '$1 '); }

  s.views.compare = function (main, query, go, rest) {
    var ids = (rest[0] || '').split(',').filter(function (id) { return /^[A-Za-z0-9._-]+$/.test(id); }).slice(0, MOST);
    var state = {metric: query.metric || '', x: query.x || '', at: query.at || ''}, set = null, ended = false;
    var bus = new s.Bus(), view = {x: query.axis || 'step', smooth: 0, log: false, redone: false, find: '', bus: bus};
    var runs = [], top = el('div'), curves = el('div');
    s.add(main, [el('h1', 'Comparison of ' + ids.length + (ids.length === 1 ? ' run' : ' runs')), top, el('div.section', el('h2', 'Curves')), curves]);

    function remember() { go.replace('#/compare/' + ids.join(','), {metric: state.metric, x: state.x, axis: view.x === 'step' ? '' : view.x}); }
    function fieldsOf() {
      var hp = Object.create(null), metrics = Object.create(null);
      runs.forEach(function (run) {
        Object.keys(run.row.hp || {}).forEach(function (n) { (hp[n] = hp[n] || Object.create(null))[run.row.hp[n]] = 1; });
        Object.keys(run.row.metrics || {}).forEach(function (n) { metrics[n] = (metrics[n] || 0) + 1; });
      });
      var varied = Object.keys(hp).filter(function (n) {
        return Object.keys(hp[n]).length > 1 || runs.some(function (r) { return !r.row.hp || !(n in r.row.hp); });
      }).sort();
      var measured = Object.keys(metrics).sort(function (a, b) {
        var g = function (n) { return metrics[n] * 10 + (/val|eval|test/i.test(n) ? 4 : 0) + (/acc|loss|score|f1|auc/i.test(n) ? 2 : 0); };
        return g(b) - g(a) || (a < b ? -1 : 1);
      });
      return {hp: Object.keys(hp).sort(), varied: varied, metrics: measured};
    }
    function pick(label, options, value, changed) {
      var made = el('select', {'aria-label': label}, options.map(function (o) { return el('option', {value: o}, s.clean(title(o), 60)); }));
      made.value = value;
      made.addEventListener('change', function () { changed(made.value); });
      return el('label.check', label, made);
    }
    function bestOf(metric) {
      var low = s.lowerIsBetter(metric), best = null;
      runs.forEach(function (run) {
        var v = s.field(run.row, (low ? 'min.' : 'max.') + metric);
        if (typeof v !== 'number' || !isFinite(v)) return;
        if (!best || (low ? v < best.value : v > best.value)) best = {run: run, value: v};
      });
      return best;
    }
    // What the best has that most of the others have not.
    function apart(best, fields) {
      return fields.varied.map(function (n) {
        var mine = s.field(best.run.row, 'hp.' + n);
        var like = runs.filter(function (r) { return s.field(r.row, 'hp.' + n) === mine; }).length;
        return {text: n + ' = ' + (mine === undefined ? 'not given' : mine), like: like};
      }).sort(function (a, b) { return a.like - b.like; }).slice(0, 4).map(function (a) {
        return a.text + (a.like === 1 ? ' (no other)' : ' (' + a.like + ' of ' + runs.length + ')');
      }).join(', ');
    }
    function table(fields) {
      var rows = [], head = el('tr', el('th', ''), runs.map(function (run) {
        var dot = el('span.swatch');
        dot.style.background = run.colour;
        return el('th', dot, el('a', {href: '#/job/' + run.id}, s.text(run.row.name || run.id, 40)), el('div.dim', run.id));
      }));
      var add = function (name, cells, best) {
        var differ = new Set(cells).size > 1;
        rows.push(el('tr', el('td', s.text(name, 80)), cells.map(function (c, i) {
          return el('td' + (i === best ? '.best' : differ ? '' : '.same'), s.text(c, 80));
        })));
      };
      var part = function (name) { rows.push(el('tr', el('th', {colspan: String(runs.length + 1)}, name))); };
      part('Hyperparameters');
      fields.varied.concat(fields.hp.filter(function (n) { return fields.varied.indexOf(n) < 0; })).slice(0, 60).forEach(function (n) {
        add(n, runs.map(function (r) { var v = s.field(r.row, 'hp.' + n); return v === undefined ? '' : typeof v === 'number' ? s.number(v) : v; }));
      });
      part('Metrics: last (least … greatest)');
      fields.metrics.slice(0, 30).forEach(function (n) {
        var best = bestOf(n);
        add(n, runs.map(function (r) {
          var m = r.row.metrics && r.row.metrics[n];
          return m ? s.number(s.finite(m.last)) + ' (' + s.number(s.finite(m.min)) + ' … ' + s.number(s.finite(m.max)) + ')' : '';
        }), best && runs.length > 1 ? runs.indexOf(best.run) : -1);
      });
      part('Result');
      add('state', runs.map(function (r) { return r.row.state || ''; }));
      add('ran', runs.map(function (r) { return s.duration(r.row.run_ms); }));
      add('attempts', runs.map(function (r) { return String(r.row.attempts); }));
      add('where', runs.map(function (r) { return r.row.where || ''; }));
      return el('div.panel.scroll', el('table.plain.diff', el('thead', head), el('tbody', rows)));
    }
    function draw() {
      var by = s.data.jobs.byId;
      runs = ids.filter(function (id) { return by[id]; }).map(function (id, i) { return {id: id, row: by[id], name: (by[id].name || id) + ' ' + id, colour: s.colour(i)}; });
      s.empty(top);
      var gone = ids.filter(function (id) { return !by[id]; });
      if (gone.length) s.add(top, el('div.why.soft', 'Not known here: ' + gone.join(', ')));
      if (!runs.length) return;
      var fields = fieldsOf();
      if (fields.metrics.indexOf(state.metric) < 0) state.metric = fields.metrics[0] || '';
      var metric = state.metric && (s.lowerIsBetter(state.metric) ? 'min.' : 'max.') + state.metric;
      var best = state.metric ? bestOf(state.metric) : null;
      if (best && runs.length > 1) {
        s.add(top, el('p', 'Best by ', el('b', s.text(state.metric, 80)), s.lowerIsBetter(state.metric) ? ' (lowest): ' : ' (highest): ',
                      el('a', {href: '#/job/' + best.run.id}, s.text(best.run.name, 80)), ' with ', el('b', s.number(best.value)),
                      fields.varied.length ? ['. It has ', s.text(apart(best, fields), 300), '.'] : '.'));
      }
      var bar = el('div.bar');
      s.add(top, bar);
      if (fields.metrics.length) s.add(bar, pick('Judged by', fields.metrics, state.metric, function (v) { state.metric = v; remember(); draw(); }));
      var given = fields.varied.map(function (n) { return 'hp.' + n; });
      var plot = null, axes = given.slice(0, 8).concat(metric ? [metric] : []);
      if (runs.length > 1 && given.length && metric) {
        plot = el('div.panel.scroll', el('h2', 'Hyperparameters against ' + s.clean(state.metric, 60)), s.parallel(runs, axes, title));
      }
      var choices = given.concat(['ran', 'attempts']).concat(fields.metrics.slice(0, 40).map(function (n) { return 'm.' + n; }));
      if (choices.indexOf(state.x) < 0) state.x = given[0] || 'ran';
      if (runs.length > 1 && metric) {
        s.add(bar, pick('Against', choices, state.x, function (v) { state.x = v; remember(); draw(); }));
        s.add(top, [el('div.stack', plot, el('div.panel.narrow', el('h2', 'Scatter'), s.scatter(runs, state.x, metric, title))), table(fields)]);
      } else {
        s.add(top, table(fields));
      }
      if (!set) {
        s.add(curves, s.curveBar(view, function (ask) { remember(); if (ask) bus.range = null; set.show(fieldsOf().metrics); set.refresh(ask); }, {}));
        set = new s.Curves(curves, runs, view);
      }
      set.runs = runs;
      set.show(fields.metrics);
    }
    var renew = s.paced(2000, function () { if (!ended && set) set.refresh(true); });
    s.data.refreshJobs().then(function () { if (!ended) draw(); }, function () {});
    var unlisten = s.data.listen(function (news) {
      if (news.jobs) s.data.refreshJobs().then(function () { if (!ended) { draw(); renew(); } }, function () {});
    });
    return Object.assign(function () { ended = true; unlisten(); if (set) set.end(); },
                         {repaint: function () { draw(); if (set) set.refresh(false); }});
  };
})(stoker);
