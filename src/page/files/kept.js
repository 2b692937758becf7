// SPDX-License-Identifier: Apache-2.0
// What a job has kept, to download; its job file and the diff of its code.
'use strict';
(function (s) {
  var el = s.el;

  function link(job, of, path, text) {
    if (s.data.exported) return s.text(text, 300);
    return el('a', {href: s.data.download(job, of, path), download: true}, s.text(text, 300));
  }
  function cells(kind, list) {
    return el('tr', list.map(function (c) { return el(kind + (c && c.num ? '.num' : ''), c && c.num !== undefined ? c.num : c); }));
  }
  function filesOf(job, of, files) {
    var nodes = files.some(function (file) { return file.node; });
    return el('table.plain', el('tbody', files.map(function (file) {
      var path = of === 'output' ? file.path : file.node + ':' + file.path;
      return cells('td', [link(job, of, path, file.path)].concat(nodes ? ['node ' + file.node] : [], [{num: s.bytes(file.bytes)}]));
    })));
  }

  s.keptView = function (main, story) {
    var none = s.isFinal(story.job.state) ? 'None.' : 'None yet.', id = story.job.id, panel = el('div.two');
    s.add(main, panel);
    var draw = function () {
      s.data.of('kept', id).then(function (kept) {
        // What was unfolded stays so when more has come.
        var open = {};
        panel.querySelectorAll('details[open]').forEach(function (d) { open[d.dataset.of] = true; });
        s.empty(panel);
        var steps = kept.checkpoints.some(function (c) { return c.step !== null; });
        var rows = kept.checkpoints.map(function (c) {
          var name = s.text(c.id, 80);
          if (c.listed && c.listed.length) {
            name = el('details', {'data-of': c.id, open: open[c.id]}, el('summary', s.text(c.id, 80)), filesOf(id, c.id, c.listed));
          }
          var state = c.as_left ? 'as left' : c.whole ? 'whole' : 'damaged: ' + c.why_not;
          return cells('td', [name].concat(steps ? [{num: c.step === null ? '' : s.number(c.step)}] : [], [{num: c.created ? s.age(s.time(c.created)) : ''},
                              {num: s.bytes(c.bytes)}, {num: c.files}, s.text(state + (c.suspect ? ', suspect' : ''), 200)]));
        });
        var traces = kept.outputs.filter(function (file) { return file.profile; });
        s.add(panel, [
          el('section.panel', el('h2', 'Checkpoints'), rows.length ? el('div.scroll', el('table.plain', el('thead', cells('th', ['name'].concat(steps ? [{num: 'step'}] : [], [{num: 'age'}, {num: 'size'}, {num: 'files'}, 'state']))), el('tbody', rows)))
            : el('p.dim', none)),
          el('section.panel', el('h2', 'Outputs'), kept.outputs.length ? el('div.scroll', filesOf(id, 'output', kept.outputs)) : el('p.dim', none),
            kept.outputs_in_all > kept.outputs.length ? el('p.dim', 'and ' + (kept.outputs_in_all - kept.outputs.length) + ' more') : null,
            el('p.dim', el('code', 'stoker get ' + id), ' fetches all of them.')),
          traces.length ? el('section.panel', el('h2', 'Profiler traces'), el('div.scroll', filesOf(id, 'output', traces)),
            el('p.dim', 'Those of torch.profiler open in Perfetto or chrome://tracing, those of Nsight in nsys-ui and ncu-ui.')) : null,
        ]);
      }, function (error) { s.empty(panel); s.add(panel, el('p.note', s.text(error.message))); });
    };
    draw();
    return {news: function (news) { if (news.record) draw(); }, end: function () {}};
  };

  s.codeView = function (main, story) {
    s.data.of('code', story.job.id).then(function (code) {
      var spec = el('pre.text', s.clean(code.spec || 'The job file cannot be read.', 1e6));
      var diff = el('pre.text');
      (code.diff || '').split('\n').forEach(function (line) {
        var kind = /^\+(?!\+\+)/.test(line) ? 'plus' : /^-(?!--)/.test(line) ? 'minus' : /^@@/.test(line) ? 'at' : '';
        s.add(diff, kind ? el('span.' + kind, s.clean(line, 5000)) : s.clean(line, 5000));
        s.add(diff, '\n');
      });
      s.add(main, el('div.two', el('section', el('h2', 'Job file'), spec),
                     el('section', el('h2', 'Code'), el('p', s.text(code.note || 'no code was packed', 300)),
                        code.digest ? el('p.dim', 'archive ', el('code', s.clean(code.digest, 12))) : null,
                        code.diff ? diff : el('p.dim', 'No changes beyond a commit are kept.'))));
    }, function (error) { s.add(main, el('p.note', s.text(error.message))); });
    return {news: function () {}, end: function () {}};
  };
})(stoker);
