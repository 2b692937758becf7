// SPDX-License-Identifier: Apache-2.0
// Several runs side by side: what sets them apart, what came of it, and their curves over another.
'use strict';
(function (s) {
  var el = s.el, MOST = 60, c = s.compared, title = c.title;

  s.views.compare = function (main, query, go, rest) {
    var ids = (rest[0] || '').split(',').filter(function (id, i, all) { return /^[A-Za-z0-9._-]+$/.test(id) && all.indexOf(id) === i; });
    var over = Math.max(0, ids.length - MOST);
    ids = ids.slice(0, MOST);
    var state = {metric: query.metric || '', x: query.x || '', all: query.all === '1'}, set = null, ended = false;
    var bus = new s.Bus(), view = {x: query.axis || 'step', smooth: Number(query.smooth) || 0, log: query.log === '1', redone: false, find: query.find || '', bus: bus};
    var runs = [], facts = Object.create(null), read = Object.create(null), top = el('div'), curves = el('div');
    s.add(main, [el('h1', 'Comparison of ' + ids.length + (ids.length === 1 ? ' run' : ' runs')),
                 over ? el('p.dim', 'The first ' + MOST + '; ' + over + ' more are not shown.') : null,
                 top, el('div.section', el('h2', 'Curves')), curves]);

    function remember() {
      go.replace('#/compare/' + ids.join(','), {metric: state.metric, x: state.x, all: state.all ? '1' : '', axis: view.x === 'step' ? '' : view.x,
                                                smooth: view.smooth || '', log: view.log ? '1' : '', find: view.find});
    }
    function pick(label, options, value, changed) {
      var made = el('select', {'aria-label': label}, options.map(function (o) { return el('option', {value: o}, s.clean(title(o), 60)); }));
      made.value = value;
      made.addEventListener('change', function () { changed(made.value); });
      return el('label.check', label, made);
    }
    // Of each run once, and again when it has changed.
    function readFacts() {
      runs.forEach(function (run) {
        if (read[run.id] === run.row.rev) return;
        read[run.id] = run.row.rev;
        s.data.of('compared', run.id).then(function (got) { facts[run.id] = got; factsCame(); }, function () {});
      });
    }
    var factsCame = s.later(50, function () { if (!ended) draw(); });
    // A run is one colour everywhere; of many, the better the stronger.
    function paintRuns(ranked) {
      if (runs.length <= 8) { runs.forEach(function (run, i) { run.colour = s.colour(i); }); return; }
      var known = ranked.filter(function (r) { return r.value !== null; }).length;
      ranked.forEach(function (r, i) { r.run.colour = r.value === null ? s.shade(null) : s.shade(known > 1 ? 1 - i / (known - 1) : 1); });
    }
    function sayBest(best, fields) {
      if (!best || best.value === null || runs.length < 2) return;
      var apart = c.apart(best.run, runs, fields, facts);
      s.add(top, el('p', 'Best by ', el('b', s.text(state.metric, 80)), s.lowerIsBetter(state.metric) ? ' (lowest): ' : ' (highest): ',
                    el('a', {href: '#/job/' + best.run.id}, s.text(best.run.name, 80)), ' with ', el('b', s.number(best.value)),
                    apart ? ['. It has ', s.text(apart, 500), '.'] : '.'));
    }
    function drawPlots(fields, ranked, bar) {
      var metric = (s.lowerIsBetter(state.metric) ? 'min.' : 'max.') + state.metric;
      var given = fields.varied.map(function (n) { return 'hp.' + n; });
      var choices = given.concat(['ran', 'attempts']).concat(fields.metrics.slice(0, 40).map(function (n) { return 'm.' + n; }));
      if (choices.indexOf(state.x) < 0) state.x = given[0] || 'ran';
      s.add(bar, pick('Scatter against', choices, state.x, function (v) { state.x = v; remember(); draw(); }));
      s.add(top, el('div.stack',
        given.length ? el('div.panel.scroll', el('h2', 'Hyperparameters against ', s.text(state.metric, 60)),
                          s.parallel(ranked.slice().reverse().map(function (r) { return r.run; }), given.slice(0, 8).concat([metric]), title),
                          runs.length > 8 ? el('p.dim', 'The better a run, the stronger its colour.') : null) : null,
        el('div.pair', el('div.panel', el('h2', 'Scatter'), s.scatter(runs, state.x, metric, title)), c.rankingPanel(ranked, state.metric))));
    }
    function draw() {
      var by = s.data.jobs.byId;
      runs = ids.filter(function (id) { return by[id]; }).map(function (id) { return {id: id, row: by[id], name: (by[id].name || id) + ' ' + id}; });
      s.empty(top);
      var gone = ids.filter(function (id) { return !by[id]; });
      if (gone.length) s.add(top, el('div.why.soft', 'Not known here: ' + gone.join(', ')));
      // Those of the table may come later.
      runs.forEach(function (run) {
        if (!run.row.hp && facts[run.id]) run.row = Object.assign({}, run.row, {hp: facts[run.id].hyperparameters});
      });
      if (!runs.length) { s.add(top, el('p.note', 'Choose jobs in the table, and then Compare.')); return; }
      readFacts();
      var fields = c.fields(runs);
      if (fields.metrics.indexOf(state.metric) < 0) state.metric = fields.metrics[0] || '';
      var ranked = c.ranking(runs, state.metric);
      paintRuns(ranked);
      sayBest(state.metric ? ranked[0] : null, fields);
      var bar = el('div.bar');
      s.add(top, bar);
      if (fields.metrics.length) s.add(bar, pick('Judged by', fields.metrics, state.metric, function (v) { state.metric = v; remember(); draw(); set.refresh(false); }));
      if (runs.length > 1 && state.metric) drawPlots(fields, ranked, bar);
      var table = c.table(state.metric ? ranked.map(function (r) { return r.run; }) : runs, fields, facts, state.metric, state.all);
      var all = el('input', {type: 'checkbox', checked: state.all});
      all.addEventListener('change', function () { state.all = all.checked; remember(); draw(); });
      s.add(top, el('div.panel', el('div.headline', el('h2', 'What differs'),
                                    runs.length > 1 ? el('label.check.dim', all, state.all ? 'Also what is the same' : 'Also what is the same (' + table.same + ')') : null), table.node));
      drawCurves(fields);
    }
    function drawCurves(fields) {
      if (!set) {
        s.add(curves, s.curveBar(view, function (ask) { remember(); if (ask) bus.range = null; set.show(c.fields(runs).metrics); set.refresh(ask); }, {}));
        set = new s.Curves(curves, runs, view);
      }
      set.runs = runs;
      set.show(fields.metrics);
    }
    var renew = s.paced(2000, function () { if (!ended && set) set.refresh(true); });
    s.data.refreshJobs().then(function () { if (!ended) draw(); }, function () {});
    var unlisten = s.data.listen(function (news) {
      if (news.jobs) redraw();
    });
    var redraw = s.paced(1000, function () {
      s.data.refreshJobs().then(function () {
        if (ended) return;
        var signature = JSON.stringify(ids.map(function (id) { return s.data.jobs.byId[id]; }));
        if (signature === redraw.seen) return;  // of other jobs
        redraw.seen = signature;
        draw();
        renew();
      }, function () {});
    });
    return Object.assign(function () { ended = true; unlisten(); if (set) set.end(); },
                         {repaint: function () { draw(); if (set) set.refresh(false); }});
  };
})(stoker);
