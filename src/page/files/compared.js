// SPDX-License-Identifier: Apache-2.0
// Of several runs: which is best, what sets it apart, their order, and a table of what differs.
'use strict';
(function (s) {
  var el = s.el;
  var sections = [['code', 'Code'], ['environment', 'Environment'], ['machine', 'Machine']];
  var compared = s.compared = {};

  // Nobody says whether more is better; names do, as in view/best_run.cc.
  var greater = /acc|auc|f1|precision|recall|score|bleu|rouge|meteor|iou|dice|reward|return|psnr|ssim|map@/i;
  s.greaterIsBetter = function (metric) { return greater.test(metric) && !/loss|perplexity|ppl|error/i.test(metric); };
  s.lowerIsBetter = function (metric) { return !s.greaterIsBetter(metric); };
  compared.title = function (f) { return f.replace(/^(hp|m)\./, '').replace(/^(min|max)\./, '$1 '); };

  // What the runs were given and measure; `varied`: in which they differ.
  compared.fields = function (runs) {
    var hp = Object.create(null), metrics = Object.create(null);
    runs.forEach(function (run) {
      Object.keys(run.row.hp || {}).forEach(function (n) { (hp[n] = hp[n] || Object.create(null))[run.row.hp[n]] = 1; });
      Object.keys(run.row.metrics || {}).forEach(function (n) { metrics[n] = (metrics[n] || 0) + 1; });
    });
    var varied = Object.keys(hp).filter(function (n) {
      return Object.keys(hp[n]).length > 1 || runs.some(function (r) { return !r.row.hp || !Object.prototype.hasOwnProperty.call(r.row.hp, n); });
    }).sort();
    var good = function (n) { return metrics[n] * 10 + (/val|eval|test/i.test(n) ? 4 : 0) + (/acc|loss|score|f1|auc/i.test(n) ? 2 : 0) - (s.ofTheRuntime(n) ? 1e4 : 0); };
    var measured = Object.keys(metrics).sort(function (a, b) { return good(b) - good(a) || (a < b ? -1 : 1); });
    return {hp: Object.keys(hp).sort(), varied: varied, metrics: measured};
  };

  // The best first; those without a finite value last.
  compared.ranking = function (runs, metric) {
    var low = s.lowerIsBetter(metric);
    var all = runs.map(function (run, i) {
      var v = s.field(run.row, (low ? 'min.' : 'max.') + metric);
      return {run: run, i: i, value: typeof v === 'number' && isFinite(v) ? v : null};
    });
    all.sort(function (a, b) {
      if ((a.value === null) !== (b.value === null)) return a.value === null ? 1 : -1;
      return (low ? a.value - b.value : b.value - a.value) || a.i - b.i;
    });
    return all;
  };

  // What `best` has and most of the others have not, of what they were given, their code, their
  // environment and their machines.
  compared.apart = function (best, runs, fields, facts) {
    var found = [];
    var add = function (name, of, after) {
      var mine = of(best);
      var like = runs.filter(function (r) { return of(r) === mine; }).length;
      // What most lack, too, says nothing.
      if ((mine === undefined || mine === '') && like * 2 > runs.length) return;
      if (like < runs.length) found.push({name: name, mine: mine, like: like, after: after || 0});
    };
    fields.varied.forEach(function (n) { add(n, function (r) { return s.field(r.row, 'hp.' + n); }); });
    sections.forEach(function (section) {
      var names = compared.names(runs, facts, section[0]);
      // Digests and sizes tell nobody anything; a command repeats what was given.
      names.filter(function (n) { return n !== 'code' && n !== 'workdir' && n !== 'computer' && (n !== 'command' || !fields.varied.length); }).forEach(function (n) {
        add(n, function (r) { return compared.text(facts, r, section[0], n); }, 1);
      });
    });
    // What they were given comes first.
    return found.sort(function (a, b) { return a.after - b.after || a.like - b.like; }).slice(0, 4).map(function (a) {
      var mine = a.mine === undefined || a.mine === '' ? 'not given' : typeof a.mine === 'number' ? s.number(a.mine) : s.clean(a.mine, 60);
      return s.clean(a.name, 60) + ' = ' + mine + (a.like === 1 ? ' (no other)' : ' (' + a.like + ' of ' + runs.length + ')');
    }).join(', ');
  };
  compared.text = function (facts, run, section, name) {
    var of = facts[run.id] && facts[run.id][section];
    return of && Object.prototype.hasOwnProperty.call(of, name) ? of[name] : '';
  };
  compared.names = function (runs, facts, section) {
    var all = Object.create(null);
    runs.forEach(function (r) { Object.keys((facts[r.id] && facts[r.id][section]) || {}).forEach(function (n) { all[n] = 1; }); });
    return Object.keys(all).sort();
  };

  compared.swatch = function (run) {
    var dot = el('span.swatch');
    dot.style.background = run.colour;
    return dot;
  };

  compared.rankingPanel = function (ranked, metric) {
    var known = ranked.filter(function (r) { return r.value !== null; });
    var least = Math.min.apply(null, known.map(function (r) { return r.value; }).concat([0]));
    var most = Math.max.apply(null, known.map(function (r) { return r.value; }).concat([0]));
    return el('div.panel', el('h2', 'By ', s.text(metric, 60)), el('div.scroll.ranks', el('table.plain', el('tbody', ranked.map(function (r, i) {
      var bar = el('span.bar-of');
      bar.style.width = (r.value === null || most === least ? 0 : Math.round(100 * (r.value - least) / (most - least))) + '%';
      bar.style.background = r.run.colour;
      bar.hidden = r.value === null;
      return el('tr', el('td.num', r.value === null ? '' : String(i + 1)),
                el('td', compared.swatch(r.run), el('a', {href: '#/job/' + r.run.id}, s.text(r.run.row.name || r.run.id, 40))),
                el('td.num', r.value === null ? 'none' : s.number(r.value)), el('td.wide', bar));
    })))));
  };

  // Where it is known which way is better.
  function bestAt(runs, metric, judged) {
    if (runs.length < 2 || !(metric === judged || s.greaterIsBetter(metric) || /loss|perplexity|ppl|error/i.test(metric))) return -1;
    var first = compared.ranking(runs, metric)[0];
    return first.value === null ? -1 : runs.indexOf(first.run);
  }
  // Runs are columns, in this order; without `all` what is the same in all of them is left out.
  compared.table = function (runs, fields, facts, judged, all) {
    var rows = [], same = 0;
    var head = el('tr', el('td', ''), runs.map(function (run) {
      return el('th', compared.swatch(run), el('a', {href: '#/job/' + run.id}, s.text(run.row.name || run.id, 40)), el('div.dim', run.id));
    }));
    var add = function (name, cells, mark) {
      var differ = new Set(cells).size > 1;
      if (!differ && !all && runs.length > 1) { ++same; return null; }
      return el('tr', el('td', s.text(name, 80)), cells.map(function (c, i) {
        return el('td' + (i === mark ? '.best' : differ ? '' : '.same'), {title: c.length > 60 ? s.clean(c, 2000) : null}, s.text(c, 60));
      }));
    };
    var part = function (name, made) {
      made = made.filter(Boolean);
      if (made.length) rows.push(el('tr.part', el('th', {colspan: String(runs.length + 1)}, el('span', name))), made);
    };
    part('Hyperparameters', fields.varied.concat(fields.hp.filter(function (n) { return fields.varied.indexOf(n) < 0; })).slice(0, 60).map(function (n) {
      return add(n, runs.map(function (r) { var v = s.field(r.row, 'hp.' + n); return v === undefined ? '' : typeof v === 'number' ? s.number(v) : v; }));
    }));
    sections.forEach(function (section) {
      part(section[1], compared.names(runs, facts, section[0]).slice(0, 60).map(function (n) {
        return add(n, runs.map(function (r) { return compared.text(facts, r, section[0], n); }));
      }));
    });
    part('Metrics: last (least … greatest)', fields.metrics.slice(0, 30).map(function (n) {
      return add(n, runs.map(function (r) {
        var m = r.row.metrics && Object.prototype.hasOwnProperty.call(r.row.metrics, n) ? r.row.metrics[n] : null;
        return m ? s.number(s.finite(m.last)) + ' (' + s.number(s.finite(m.min)) + ' … ' + s.number(s.finite(m.max)) + ')' : '';
      }), bestAt(runs, n, judged));
    }));
    part('Result', [['state', function (r) { return r.row.state || ''; }], ['ran', function (r) { return s.duration(r.row.run_ms); }],
                    ['attempts', function (r) { return String(r.row.attempts); }], ['user', function (r) { return r.row.user || ''; }]].map(function (f) {
      return add(f[0], runs.map(f[1]), -1);
    }));
    return {node: el('div.scroll', el('table.plain.diff', el('thead', head), el('tbody', rows))), same: same};
  };
})(stoker);
