// SPDX-License-Identifier: Apache-2.0
// One job: how it stands, its time line, and below that curves, log, files or code.
'use strict';
(function (s) {
  var el = s.el;
  var tabs = [['curves', 'Curves'], ['log', 'Log'], ['files', 'Checkpoints & outputs'], ['code', 'Job file & code']];

  function fact(name, value) { return value === '' || value === null || value === undefined ? null : el('div', el('dt', name), el('dd', value.nodeType ? value : s.text(value, 300))); }
  function price(story) {
    var job = story.job, sum = 0, known = true, hours = 0;
    (job.launches || []).forEach(function (launch) {
      var from = s.time(launch.opened), to = launch.closed_at ? s.time(launch.closed_at) : s.now();
      var h = Math.max(0, to - from) / 3.6e6;
      hours += h;
      if (typeof launch.price_micros === 'number') sum += launch.price_micros / 1e6 * h; else known = false;
    });
    return {hours: hours, cost: known && hours > 0 ? '$' + sum.toFixed(2) : ''};
  }

  function moveText(job) {
    var move = job.move;
    if (!move) return '';
    var asked = 'to ' + move.to + ', asked ' + s.clock(s.time(move.at)) + (move.by ? ' by ' + move.by : '');
    if (job.ended && (move.state === 'Asked' || move.state === 'Told')) return asked + ': the job ended before';
    if (move.state === 'Asked') return asked + (move.waits ? ': it trains on until its machines there are up' : '');
    if (move.state === 'Told') return asked + ': its nodes are told to save and stop';
    return move.state === 'Arrived' ? asked + ': it is there' : asked + ': given up, ' + move.why;
  }

  // What the node that decided wrote last to its standard error.
  function lastWords(story) {
    var ending = story.job.result, last = (story.job.attempts || []).slice(-1)[0];
    if (story.job.state !== 'Failed' || !last) return null;
    var report = (story.reports || []).filter(function (r) {
      return r && r.attempt === last.number && r.stderr_tail && (!ending || !(ending.rank >= 0) || r.rank === ending.rank);
    })[0];
    if (!report) return null;
    return el('pre', report.stderr_tail.trim().split('\n').slice(-4).map(function (line) { return s.clean(s.plain(line), 400); }).join('\n'));
  }
  s.views.job = function (main, query, go, rest) {
    var id = rest[0], tab = tabs.some(function (t) { return t[0] === rest[1]; }) ? rest[1] : 'curves';
    var story = null, part = null, checkpoints = [], ended = false;
    var top = el('div'), bar = el('div.tabs', {role: 'tablist', 'aria-label': 'Of this job'}), below = el('div', {role: 'tabpanel', 'aria-label': 'What is chosen'});
    s.add(main, [top, bar, below]);
    tabs.forEach(function (t) {
      s.add(bar, el('a', {role: 'tab', href: '#/job/' + id + '/' + t[0], 'aria-selected': String(t[0] === tab)}, t[1]));
    });
    function drawTop() {
      var job = story.job, spent = price(story), launch = (job.launches || []).slice(-1)[0] || {};
      var started = (job.attempts || []).filter(function (a) { return a.running; })[0];
      var why = story.reason_text && job.state !== 'Succeeded' ? story.reason_text : '';
      var trouble = (story.queued || []).concat(story.troubles || []).concat(story.trouble ? [story.trouble] : []);
      var hyper = Object.keys(story.hyperparameters || {}).map(function (n) { return n + '=' + story.hyperparameters[n]; }).join('  ');
      s.empty(top);
      s.add(top, [
        el('div.jobhead', el('h1', s.text(job.name || job.id, 200)), s.badge(job.state), el('code.dim', job.id), el('div.row', s.actionsFor(job))),
        why ? el('div.why' + (job.state === 'Failed' ? '' : '.soft'), s.text(why, 1000), lastWords(story)) : null,
        trouble.map(function (t) { return el('div.why.soft', s.text(t, 600)); }),
        el('dl.factline', fact('Tags', (story.tags || []).join(' ')), fact('Note', story.note),
           fact('Submitted', s.clock(s.time(job.created)) + ' by ' + job.user),
           fact(job.ended ? 'Took' : 'Since', s.duration((job.ended ? s.time(job.ended) : s.now()) - s.time(job.created))),
           fact('Program ran', s.duration(story.run_ms)), fact('Attempts', String(story.attempts_ran)),
           fact('Nodes', job.num_nodes > 1 ? String(job.num_nodes) : ''),
           fact('Where', [launch.provider, launch.region, launch.zone, launch.type, launch.market].filter(Boolean).join(' ')),
           fact('Ran with', story.ran_with || ''),
           fact('Machine time', started ? s.duration(spent.hours * 3.6e6) : ''), fact('Cost, about', spent.cost),
           fact('Newest checkpoint', story.newest_checkpoint), fact('Goes on from', job.retry_of ? el('a', {href: '#/job/' + job.retry_of}, job.retry_of) : ''),
           fact('Move', moveText(job)), fact('Hyperparameters', hyper)),
        el('div.panel', s.timeline(story, checkpoints)),
      ]);
    }
    function curves() {
      var bus = new s.Bus(), view = {x: query.x || 'step', smooth: Number(query.smooth) || 0, log: query.log === '1', redone: query.redone === '1', find: query.find || '', bus: bus};
      var node = Math.max(0, Number(query.node) || 0), machine = [], machineNode = el('div.charts');
      var remember = function () {
        go.replace('#/job/' + id + '/curves', {x: view.x === 'step' ? '' : view.x, smooth: view.smooth || '', log: view.log ? '1' : '', redone: view.redone ? '1' : '', find: view.find, node: node || ''});
      };
      var set = null;
      var names = function () {
        if (node === 0) return Promise.resolve(Object.keys(story.metrics || {}));
        return s.data.series(id, {node: node, px: 1}).then(function (got) { return got.series.map(function (one) { return one.name; }); });
      };
      var changed = function (ask) {
        remember();
        if (ask) bus.range = null;
        names().then(function (all) { if (ended) return; set.show(order(all)); set.refresh(ask); });
      };
      s.add(below, el('h2.unseen', 'Curves'));
      s.add(below, s.curveBar(view, changed, {redone: (story.job.attempts || []).length > 1}));
      if (story.job.num_nodes > 1) {
        var choose = el('select', {'aria-label': 'Metrics of which node'});
        for (var n = 0; n < Math.min(256, story.job.num_nodes); ++n) s.add(choose, el('option', {value: String(n)}, 'Node ' + n));
        choose.value = String(node);
        choose.addEventListener('change', function () { node = Number(choose.value); set.runs[0].node = node; changed(true); });
        below.querySelector('.bar').appendChild(choose);
      }
      var found = (story.metrics_found_in || []).join(', ');
      set = new s.Curves(below, [{id: id, name: story.job.name, colour: s.colour(0), node: node}], view);
      names().then(function (all) { if (!ended) set.show(order(all)); });
      s.add(below, [found ? el('p.dim', 'Found in ', s.text(found, 400)) : null, el('div.section', el('h2', 'Machine'), el('span.dim', 'by time of day, under the same cursor')), machineNode]);
      var usage = s.paced(3000, function () {
        s.data.of('usage', id).then(function (got) {
          if (ended) return;
          machine.forEach(function (c) { c.end(); });
          s.empty(machineNode);
          machine = s.machineCurves(machineNode, got.courses, bus);
          if (!machine.length) s.add(machineNode, el('p.dim', 'Nothing is known of its use yet.'));
        }, function () {});
      });
      usage();
      var renew = s.paced(700, function () {
        if (ended) return;
        names().then(function (all) { if (!ended) { set.show(order(all)); set.refresh(true); } });
      });
      return {
        news: function (news) { if (news.metrics || news.again) { refreshStory().then(renew); usage(); } },
        repaint: function () { set.runs[0].colour = s.colour(0); set.refresh(false); machine.forEach(function (c) { c.redraw(); }); },
        end: function () { set.end(); machine.forEach(function (c) { c.end(); }); },
      };
    }
    // Losses and scores first: what people look at.
    function order(names) {
      var rank = function (n) { return /loss/i.test(n) ? 0 : /acc|auc|f1|reward|score|bleu|perplex/i.test(n) ? 1 : 2; };
      return names.slice().sort(function (a, b) { return rank(a) - rank(b) || (a < b ? -1 : 1); });
    }
    function refreshStory() {
      return s.data.of('job', id).then(function (got) {
        if (ended) return;
        story = got;
        if (!s.data.exported && got.now) s.skew = s.time(got.now) - Date.now();
        drawTop();
      });
    }
    var again = s.paced(500, function () {
      refreshStory().catch(function () {});
      s.data.of('kept', id).then(function (kept) { checkpoints = kept.checkpoints; if (story && !ended) drawTop(); }, function () {});
    });
    refreshStory().then(function () {
      if (ended) return;
      // Where there is nothing to draw, its log says what became of it.
      if (!rest[1] && story.job.started !== null && !Object.keys(story.metrics || {}).length && s.isFinal(story.job.state)) {
        tab = 'log';
        bar.childNodes.forEach(function (a, i) { a.setAttribute('aria-selected', String(tabs[i][0] === tab)); });
      }
      go.title((story.job.name || id) + ' · ' + id);
      part = tab === 'log' ? s.logView(below, story) : tab === 'files' ? s.keptView(below, story) : tab === 'code' ? s.codeView(below, story) : curves();
      again();
    }, function (error) {
      s.empty(top);
      s.add(top, el('div.panel.note', s.text(error.message, 400)));
    });
    var unlisten = s.data.listen(function (news) {
      if (!part || (news.job !== id && !news.again)) return;
      part.news(news);
      if (news.record || news.again) again();
    });
    var beat = s.data.exported ? 0 : setInterval(function () {
      if (story && !s.isFinal(story.job.state)) again();
    }, 20000);
    return Object.assign(function () {
      ended = true;
      clearInterval(beat);
      unlisten();
      if (part) part.end();
    }, {repaint: function () { if (story) drawTop(); if (part && part.repaint) part.repaint(); }});
  };
})(stoker);
