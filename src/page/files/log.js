// SPDX-License-Identifier: Apache-2.0
// A job's log: as it comes, with colours and a search. Only the lines on the screen are elements.
'use strict';
(function (s) {
  var el = s.el, LINE = 19, LONGEST = 4000, MOST = 200000, TAIL = 2000;

  s.logView = function (main, story) {
    var id = story.job.id, nodes = story.job.num_nodes;
    var lines = [], shown = [], cursor = '', loading = false, again = false, whole = false, ended = false;
    var hits = [], at = -1, widest = 80;
    var search = el('input', {type: 'search', placeholder: 'Search in the log', 'aria-label': 'Search in the log'});
    var only = el('input', {type: 'checkbox'});
    var says = el('span.dim', {role: 'status'});
    var follow = el('input', {type: 'checkbox', checked: true});
    var stream = el('select', {'aria-label': 'Which lines'}, [['', 'All lines'], ['e', 'Standard error'], ['o', 'Standard output'], ['s', 'stoker\'s own']].map(function (o) { return el('option', {value: o[0]}, o[1]); }));
    var node = el('select', {'aria-label': 'Of which node', hidden: nodes < 2}, el('option', {value: ''}, 'All nodes'));
    for (var n = 0; n < Math.min(nodes, 256); ++n) s.add(node, el('option', {value: String(n)}, 'Node ' + n));
    var up = el('button', {type: 'button', 'aria-label': 'The hit before'}, '↑'), down = el('button', {type: 'button', 'aria-label': 'The next hit'}, '↓');
    var earlier = el('button', {type: 'button'}, 'From the beginning');
    var body = el('div.body');
    var box = el('div.log.mono', {tabindex: '0', role: 'log', 'aria-label': 'Log', 'aria-live': 'off'}, body);
    s.add(main, [el('div.bar', search, up, down, el('label.check', only, 'Hits alone'), stream, node, el('label.check', follow, 'Follow'), earlier, says), box]);

    function kind(line) { return line.o ? 'note' : line.s; }
    function wanted(line) {
      if (stream.value === 'e' && line.s !== 'e') return false;
      if (stream.value === 'o' && line.s !== 'o') return false;
      if (stream.value === 's' && line.s !== 's' && !line.o) return false;
      return node.value === '' || String(line.n) === node.value;
    }
    function finish() {
      var word = search.value.toLowerCase();
      hits = [];
      shown = [];
      lines.forEach(function (line) {
        if (!wanted(line)) return;
        var hit = word && plainOf(line).toLowerCase().indexOf(word) >= 0;
        if (only.checked && word && !hit) return;
        if (hit) hits.push(shown.length);
        shown.push(line);
      });
      at = Math.min(at, hits.length - 1);
      tell();
      size();
      draw();
    }
    function plainOf(line) {
      if (line.plain === undefined) {
        var text = line.x.length > 20000 ? line.x.slice(0, 20000) : line.x;
        var back = text.replace(/\r+$/, '').lastIndexOf('\r');  // of a progress bar, its last state
        line.x = back >= 0 ? text.slice(back + 1) : text;
        line.plain = s.plain(line.x);
      }
      return line.plain;
    }
    function tell() {
      var text = shown.length + ' lines' + (whole ? '' : ', the newest');
      if (search.value) text += ', ' + (hits.length ? (at + 1) + ' of ' : '') + hits.length + ' hits';
      says.textContent = text;
      earlier.hidden = whole;
    }
    // To the foot of the window, wherever it begins.
    function room() {
      var top = box.getBoundingClientRect().top + window.scrollY;
      box.style.height = Math.max(320, window.innerHeight - top - 24) + 'px';
    }
    var resized = s.later(100, function () { room(); draw(); });
    window.addEventListener('resize', resized);
    function size() {
      room();
      body.style.height = shown.length * LINE + 'px';
      body.style.width = 'calc(' + Math.min(widest, LONGEST) + 'ch + 100px)';
      body.style.minWidth = '100%';
    }
    // Coloured as the program asked for, and marked where `word` stands, also across colours.
    function partsOf(parts, word) {
      var whole = parts.map(function (p) { return p.text; }).join('').toLowerCase(), hits = [], found = word ? whole.indexOf(word) : -1;
      for (; found >= 0; found = whole.indexOf(word, found + word.length)) hits.push(found);
      var at = 0, next = 0;
      return parts.map(function (part) {
        var made = part.classes ? el('span.' + part.classes.split(' ').join('.')) : document.createDocumentFragment();
        var end = at + part.text.length, from = at;
        while (next < hits.length && hits[next] < end) {
          var begin = Math.max(from, hits[next]), stop = Math.min(end, hits[next] + word.length);
          s.add(made, part.text.slice(from - at, begin - at));
          s.add(made, el('mark', part.text.slice(begin - at, stop - at)));
          from = stop;
          if (hits[next] + word.length > end) break;  // it goes on in the next part
          ++next;
        }
        s.add(made, part.text.slice(from - at));
        at = end;
        return made;
      });
    }
    function lineOf(i) {
      var line = shown[i], text = plainOf(line), word = search.value.toLowerCase();
      var label = (nodes > 1 ? line.a + '.' + line.n + ':' : story.job.attempts.length > 1 ? line.a + ':' : '') + line.l;
      var x = el('span.x');
      var parts = line.x.indexOf('\u001b') >= 0 ? s.ansi(line.x.slice(0, LONGEST), {}) : [{text: text.slice(0, LONGEST), classes: ''}];
      s.add(x, partsOf(parts, word && text.toLowerCase().indexOf(word) >= 0 ? word : ''));
      if (line.x.length > LONGEST) s.add(x, '…');
      var made = el('div.l.' + kind(line), el('span.g', {title: line.t ? s.clock(line.t) + ', attempt ' + line.a + ', node ' + line.n : null}, label), el('bdi', x));
      made.style.top = i * LINE + 'px';
      if (hits[at] === i) made.classList.add('hit');
      return made;
    }
    function draw() {
      var first = Math.max(0, Math.floor(box.scrollTop / LINE) - 20);
      var last = Math.min(shown.length, Math.ceil((box.scrollTop + box.clientHeight) / LINE) + 20);
      s.empty(body);
      for (var i = first; i < last; ++i) body.appendChild(lineOf(i));
      if (!shown.length) s.add(body, el('div.note', ended || cursor ? 'No lines.' : 'Reading…'));
    }
    function toEnd() { box.scrollTop = box.scrollHeight; draw(); }
    function take(got) {
      got.lines.forEach(function (line) {
        var last = lines[lines.length - 1];
        if (last && last.c && last.a === line.a && last.n === line.n && last.s === line.s) {
          if (last.x.length < 20000) last.x += line.x;  // it goes on
          last.c = line.c;
          delete last.plain;
          return;
        }
        lines.push(line);
        widest = Math.max(widest, Math.min(line.x.length, LONGEST));
      });
      if (lines.length > MOST) { lines.splice(0, lines.length - MOST); whole = false; }
      cursor = got.cursor;
    }
    function load() {
      if (ended) return;
      if (loading) { again = true; return; }
      loading = true;
      s.data.of('log', id, {cursor: cursor, tail: cursor || whole ? '' : TAIL}).then(function (got) {
        loading = false;
        if (ended) return;
        if (s.data.exported) { whole = got.whole; if (cursor) return; got.cursor = 'end'; }
        var bottom = box.scrollTop + box.clientHeight >= box.scrollHeight - 40;
        if (!cursor && !whole && got.lines.length < TAIL && (!got.lines.length || got.lines[0].l === 1 && got.lines[0].a === 1)) whole = true;
        take(got);
        if (got.lines.length || !shown.length) finish();
        if (follow.checked && (bottom || got.lines.length && lines.length === got.lines.length)) toEnd();
        if (!s.data.exported && (got.lines.length >= 200 || again)) { again = false; load(); }
      }, function (error) { loading = false; says.textContent = s.clean(error.message, 200); });
    }
    function jump(by) {
      if (!hits.length) return;
      at = (at + by + hits.length) % hits.length;
      follow.checked = false;
      box.scrollTop = Math.max(0, hits[at] * LINE - box.clientHeight / 2);
      tell();
      draw();
    }
    search.addEventListener('input', s.later(120, function () { at = -1; finish(); if (hits.length && !only.checked) jump(1); }));
    search.addEventListener('keydown', function (event) { if (event.key === 'Enter') { jump(event.shiftKey ? -1 : 1); event.preventDefault(); } });
    up.addEventListener('click', function () { jump(-1); });
    down.addEventListener('click', function () { jump(1); });
    [only, stream, node].forEach(function (c) { c.addEventListener('change', finish); });
    follow.addEventListener('change', function () { if (follow.checked) toEnd(); });
    earlier.addEventListener('click', function () { whole = true; cursor = ''; lines = []; follow.checked = false; box.scrollTop = 0; load(); });
    box.addEventListener('scroll', function () { requestAnimationFrame(draw); });
    draw();
    load();
    return {
      news: function (news) { if (news.log || news.record || news.again) load(); },
      end: function () { ended = true; window.removeEventListener('resize', resized); },
    };
  };
})(stoker);
