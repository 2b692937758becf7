// SPDX-License-Identifier: Apache-2.0
// The story of a job in one picture: attempts, what they were about, notices, checkpoints.
'use strict';
(function (s) {
  // What the first of its nodes that has heard of one was told.
  function noticeOf(story, attempt) {
    var all = (story.reports || []).filter(function (r) { return r && r.attempt === attempt.number && r.notice; });
    return all.length ? all[0].notice : null;
  }
  function legend(seen) {
    var words = [['stage', 'waiting, preparing'], ['run', 'running'], ['run good', 'to its end'], ['run bad', 'failed'], ['saving', 'saving after a notice'], ['notice', 'notice'], ['check', 'checkpoint']];
    return s.el('div.legend', words.filter(function (w) { return seen[w[0]]; }).map(function (w) {
      var mark = w[0] === 'check' ? s.svg('path', {'class': 'check', d: 'M7 1l5 5-5 5-5-5z'})
        : w[0] === 'notice' ? s.svg('line', {'class': 'notice', x1: 7, x2: 7, y1: 0, y2: 12}) : s.svg('rect', {'class': w[0], x: 0.5, y: 1.5, width: 13, height: 9, rx: 2});
      return s.el('span', s.svg('svg', {'class': 'timeline', width: 14, height: 12, 'aria-hidden': 'true'}, mark), w[1]);
    }));
  }
  s.timeline = function (story, checkpoints) {
    var seen = {};
    var job = story.job, attempts = job.attempts || [], t0 = s.time(job.created);
    var end = job.ended ? s.time(job.ended) : s.now();
    if (!(end > t0)) end = t0 + 1000;
    var width = s.room(1640), left = 70, right = 22, lane = 24, top = 6;
    var height = top + Math.max(1, attempts.length) * lane + 24;
    var x = function (time) { return left + Math.max(0, Math.min(1, (time - t0) / (end - t0))) * (width - left - right); };
    var svg = s.svg('svg', {'class': 'timeline', width: width, height: height, role: 'img', 'aria-label': attempts.length + ' attempts of the job over time'});
    // Hours, minutes or seconds, whichever gives some six of them.
    var steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800];
    var step = steps.filter(function (n) { return (end - t0) / 1000 / n <= width / 120; })[0] || 2592000;
    for (var t = 0; t <= (end - t0) / 1000; t += step) {
      var at = x(t0 + t * 1000);
      s.add(svg, s.svg('line', {'class': 'tick', x1: at, x2: at, y1: top, y2: height - 18}));
      s.add(svg, s.svg('text', {x: at, y: height - 5, 'text-anchor': 'middle'}, t === 0 ? '0' : s.duration(t * 1000).trim()));
    }
    var title = function (node, text) { s.add(node, s.svg('title', {}, s.clean(text, 400))); return node; };
    attempts.forEach(function (attempt, i) {
      var y = top + i * lane, ended = attempt.ended ? s.time(attempt.ended) : end;
      var opened = s.time(attempt.opened), running = attempt.running ? s.time(attempt.running) : NaN;
      var reason = attempt.ending ? attempt.ending.reason : '';
      var kind = !attempt.ended ? '' : reason === 'Completed' ? ' good' : /Interrupted|Moved|Cancelled|Superseded/.test(reason) ? '' : ' bad';
      s.add(svg, s.svg('text', {'class': 'label', x: 0, y: y + 16}, 'attempt ' + attempt.number));
      var until = isNaN(running) ? ended : running;
      s.add(svg, title(s.svg('rect', {'class': 'stage', x: x(opened), y: y + 6, width: Math.max(1, x(until) - x(opened)), height: 12, rx: 2}),
                       'waiting for machines and preparing: ' + s.duration(until - opened)));
      if (!isNaN(running)) {
        s.add(svg, title(s.svg('rect', {'class': 'run' + kind, x: x(running), y: y + 3, width: Math.max(2, x(ended) - x(running)), height: 18, rx: 3}),
                         'running: ' + s.duration(ended - running) + (attempt.ending_text ? '; ' + attempt.ending_text : '')));
      }
      // The next attempt is opened as soon as a notice is heard.
      var told = noticeOf(story, attempt), next = attempts[i + 1];
      var noticeAt = attempt.noticed || told ? Math.min(ended, next ? s.time(next.opened) : ended) : reason === 'Interrupted' ? ended : NaN;
      if (!isNaN(noticeAt)) {
        seen.notice = true;
        if (x(ended) - x(noticeAt) > 2 && noticeAt >= running) {
          seen.saving = true;
          s.add(svg, title(s.svg('rect', {'class': 'saving', x: x(noticeAt), y: y + 3, width: x(ended) - x(noticeAt), height: 18}),
                           'saving after a notice, for ' + s.duration(ended - noticeAt)));
        }
        s.add(svg, title(s.svg('line', {'class': 'notice', x1: x(noticeAt), x2: x(noticeAt), y1: y, y2: y + lane}),
                         (told ? 'notice: ' + told.action + ' at ' + s.clock(s.time(told.until)) : 'interrupted') + (attempt.ending ? '; ' + attempt.ending.why : '')));
      }
      if (!isNaN(running)) seen['run' + kind] = true;
      if (until - opened > 0) seen.stage = true;
      var room = width - right - x(ended) > 90;
      if (reason && reason !== 'Completed' && (room || width > 600)) {  // else its title says so
        s.add(svg, s.svg('text', {'class': room ? '' : 'within', x: room ? x(ended) + 6 : x(ended) - 6, 'text-anchor': room ? 'start' : 'end', y: y + 16}, s.clean(reason, 40)));
      }
    });
    (checkpoints || []).forEach(function (c) {
      if (c.job !== job.id || !c.created) return;
      var i = attempts.findIndex(function (a) { return a.number === c.attempt; });
      if (i < 0) return;
      var cx = x(s.time(c.created)), cy = top + i * lane + 12;
      seen.check = true;
      s.add(svg, title(s.svg('path', {'class': 'check', d: 'M' + cx + ' ' + (cy - 5) + 'l5 5-5 5-5-5z'}),
                       'checkpoint ' + c.id + (c.step !== null ? ', step ' + c.step : '') + ', ' + s.bytes(c.bytes)));
    });
    return s.el('div', s.el('div.scroll', svg), legend(seen));
  };
})(stoker);
