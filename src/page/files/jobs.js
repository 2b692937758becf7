// SPDX-License-Identifier: Apache-2.0
// The table of jobs: rows are made only for what is on the screen, so that ten thousand are as
// smooth as ten. Filter, order, columns and groups are in the address, so that a link is a view.
'use strict';
(function (s) {
  var el = s.el, ROW = 34, AROUND = 8;

  var columnsOf = s.columns, titleOf = columnsOf.title, isNumber = columnsOf.isNumber, cellText = columnsOf.text;

  s.views.jobs = function (main, query, go) {
    var state = {filter: query.q || '', sort: query.sort || 'age', down: query.down === '1', group: query.group || '',
                 columns: query.cols ? query.cols.split(',').map(decodeURIComponent) : null};
    var chosen = {}, at = 0, lines = [], closed = Object.create(null), columns = [], grown = {}, found = [];
    var search = el('input', {type: 'search', placeholder: 'Filter: words, lr<0.1, state=Failed …  ( / )',
                              'aria-label': 'Filter jobs', value: state.filter, autocomplete: 'off', spellcheck: 'false'});
    var group = el('select', {'aria-label': 'Group by'});
    var chips = el('div.chips', {role: 'group', 'aria-label': 'Jobs by state'});
    var count = el('span.dim', {role: 'status'});
    var compare = el('button.primary', {type: 'button', disabled: true}, 'Compare');
    var more = el('button', {type: 'button', 'aria-expanded': 'false'}, 'Columns');
    var drop = el('div.drop', {hidden: true});
    var head = el('div.line.head', {role: 'row'});
    var body = el('div.body', {role: 'rowgroup'});
    var grid = el('div.grid', {role: 'grid', tabindex: '0', 'aria-label': 'Jobs', 'aria-multiselectable': 'true'},
                  el('div', {role: 'rowgroup'}, head), body);
    grid.firstChild.style.cssText = '';
    s.add(main, [el('h1', 'Jobs'), el('div.bar', search, group, el('div.menu', more, drop), compare),
                 el('div.under', chips, count, el('span.dim.keys', {'aria-hidden': 'true'}, '↑ ↓ move · Enter opens · Space marks · / filters')), grid]);
    main.querySelector('h1').style.margin = '0 0 10px';

    function address() {
      var out = {q: state.filter, sort: state.sort === 'age' && !state.down ? '' : state.sort, down: state.down ? '1' : '', group: state.group,
                 cols: state.columns ? state.columns.map(encodeURIComponent).join(',') : ''};
      go.replace('#/jobs', out);
    }
    function arrange() {
      var rows = s.data.jobs.rows, all = columnsOf.known(rows);
      columns = state.columns || columnsOf.usual(all, rows);
      found = s.sorted(state.filter ? rows.filter(s.filter(state.filter)) : rows, state.sort, state.down);
      var matching = found.length;
      lines = [];
      if (!state.group) {
        found.forEach(function (row) { lines.push({row: row}); });
      } else {
        var groups = new Map();
        s.sorted(found, state.group, false).forEach(function (row) {
          var value = s.field(row, state.group);
          var key = value === undefined || value === '' ? 'not given' : typeof value === 'number' ? s.number(value) : s.clean(value, 80);
          if (!groups.has(key)) groups.set(key, []);
          groups.get(key).push(row);
        });
        groups.forEach(function (members, key) {
          lines.push({group: key, members: members});
          if (!closed[key]) members.forEach(function (row) { lines.push({row: row}); });
        });
      }
      count.textContent = matching === rows.length ? rows.length + ' jobs' : matching + ' of ' + rows.length + ' jobs';
      at = Math.min(at, Math.max(0, lines.length - 1));
      body.style.height = lines.length * ROW + 'px';
      grid.setAttribute('aria-rowcount', String(lines.length + 1));
      var widths = columnsOf.widths(columns, found, grown);
      if (!state.columns && grid.clientWidth > 0) columns = columns.slice(0, columnsOf.fitting(columns, widths, grid.clientWidth));
      grid.style.setProperty('--cols', (window.innerWidth < 700 ? '24px ' : '34px ') + widths.slice(0, columns.length).map(function (w) { return w.css; }).join(' '));
      drawChips(all.states, rows.length);
      var options = ['', 'name', 'state', 'user', 'where', 'reason'].concat(Object.keys(all.hp).sort().map(function (n) { return 'hp.' + n; }));
      var signature = options.join('\n');
      if (group.dataset.known !== signature) {
        group.dataset.known = signature;
        s.empty(group);
        options.forEach(function (o) { s.add(group, el('option', {value: o}, o === '' ? 'No groups' : 'By ' + s.clean(titleOf(o), 40))); });
        group.value = state.group;
      }
      drawHead();
      draw(true);
    }
    // How many are in each state; a click filters.
    function drawChips(states, all) {
      var order = ['Running', 'Pending', 'Waiting', 'Stopping', 'Failed', 'Cancelled', 'Succeeded'];
      var names = Object.keys(states).sort(function (a, b) { return order.indexOf(a) - order.indexOf(b) || (a < b ? -1 : 1); });
      var signature = JSON.stringify([states, state.filter]);
      if (chips.dataset.is === signature) return;
      chips.dataset.is = signature;
      var focused = chips.contains(document.activeElement) ? document.activeElement.dataset.state : null;
      s.empty(chips);
      names.forEach(function (name) {
        var term = 'state=' + name, on = state.filter.split(/\s+/).indexOf(term) >= 0;
        var chip = el('button.chip', {type: 'button', 'aria-pressed': String(on), 'data-state': name}, name + ' ', el('b', String(states[name])));
        chip.addEventListener('click', function () {
          var others = state.filter.split(/\s+/).filter(function (w) { return w && !/^state=/.test(w); });
          search.value = state.filter = others.concat(on ? [] : [term]).join(' ');
          grid.scrollTop = 0;
          at = 0;
          address();
          arrange();
        });
        s.add(chips, chip);
        if (focused === name) chip.focus();
      });
    }
    function drawHead() {
      s.empty(head);
      allBox = el('input', {type: 'checkbox', 'aria-label': 'Choose all jobs that are shown'});
      allBox.addEventListener('click', function () { chooseAll(allBox.checked); });
      s.add(head, el('span', {role: 'columnheader', 'aria-label': 'Chosen for comparison'}, allBox));
      tellChosen();
      columns.forEach(function (column) {
        var sorted = state.sort === column;
        var numbers = isNumber(column) || lines.slice(0, 50).some(function (l) { return l.row && typeof s.field(l.row, column) === 'number'; });
        var cell = el('span' + (numbers ? '.num' : ''), {role: 'columnheader', title: s.clean(column),
          tabindex: '0', 'data-column': column,
          'aria-sort': sorted ? (state.down ? 'descending' : 'ascending') : null}, s.clean(titleOf(column), 60));
        var sort = function () {
          state.down = sorted ? !state.down : false;
          state.sort = column;
          address();
          arrange();
        };
        cell.addEventListener('click', sort);
        cell.addEventListener('keydown', function (event) {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          event.stopPropagation();
          sort();
          var anew = Array.from(head.children).filter(function (c) { return c.dataset.column === column; })[0];
          if (anew) anew.focus();
        });
        s.add(head, cell);
      });
    }
    function lineOf(i) {
      var line = lines[i], made;
      if (line.group !== undefined) {
        made = el('div.line.group', {role: 'row', id: 'line-' + i, 'aria-rowindex': String(i + 2), 'aria-expanded': String(!closed[line.group])},
                  el('span', {role: 'gridcell'}, (closed[line.group] ? '▸ ' : '▾ '), s.text(titleOf(state.group) + ' ' + line.group, 100),
                     el('span.dim', '  ' + line.members.length + ' jobs' + best(line.members))));
      } else {
        var row = line.row;
        var box = el('input', {type: 'checkbox', tabindex: '-1', checked: !!chosen[row.id], 'aria-label': 'Compare ' + s.clean(row.name || row.id, 60)});
        box.addEventListener('click', function (event) { event.stopPropagation(); choose(row.id, box.checked); });
        made = el('div.line.job', {role: 'row', id: 'line-' + i, 'aria-rowindex': String(i + 2), 'aria-selected': String(!!chosen[row.id])},
                  el('span', {role: 'gridcell'}, box));
        columns.forEach(function (column) {
          var cell = el('span' + (isNumber(column) || typeof s.field(row, column) === 'number' ? '.num' : ''), {role: 'gridcell'});
          if (column === 'name') {
            s.add(cell, s.data.has(row.id) ? el('a.name', {href: '#/job/' + row.id, tabindex: '-1'}, s.text(row.name || row.id, 120))
              : el('span.dim', {title: 'It has no page of its own in this report'}, s.text(row.name || row.id, 120)));
          } else if (column === 'state') {
            s.add(cell, s.badge(row.state));
          } else {
            s.add(cell, s.text(cellText(row, column), 120));
            if (column === 'command') cell.title = s.clean(row.command, 500);
            if (column === 'reason' && row.remark) cell.title = s.clean(row.remark);
          }
          s.add(made, cell);
        });
      }
      if (i === at) made.classList.add('at');
      made.style.top = i * ROW + 'px';
      made.dataset.i = i;
      return made;
    }
    function best(members) {  // of the first metric among the columns: its range
      var metric = columns.filter(function (c) { return /^m\./.test(c); })[0];
      if (!metric) return '';
      var values = members.map(function (r) { return s.field(r, metric); }).filter(function (v) { return typeof v === 'number' && isFinite(v); });
      if (!values.length) return '';
      return ', ' + s.clean(titleOf(metric), 40) + ' ' + s.number(Math.min.apply(null, values)) + ' to ' + s.number(Math.max.apply(null, values));
    }
    var drawn = {}, allBox = null;
    function draw(anew) {
      var first = Math.max(0, Math.floor(grid.scrollTop / ROW) - AROUND);
      var last = Math.min(lines.length, Math.ceil((grid.scrollTop + grid.clientHeight) / ROW) + AROUND);
      if (anew) { s.empty(body); drawn = {}; }
      Object.keys(drawn).forEach(function (i) {
        if (i < first || i >= last) { body.removeChild(drawn[i]); delete drawn[i]; }
      });
      for (var i = first; i < last; ++i) {
        if (!drawn[i]) body.appendChild(drawn[i] = lineOf(i));
      }
      if (anew && !lines.length) {
        s.add(body, el('div.note', s.data.jobs.rows.length ? 'No job is like that.' : 'No jobs yet. To run one: stoker run -- python3 train.py'));
      }
      if (lines.length) grid.setAttribute('aria-activedescendant', 'line-' + at);
      else grid.removeAttribute('aria-activedescendant');
    }
    function moveTo(i) {
      at = Math.max(0, Math.min(lines.length - 1, i));
      var top = at * ROW, seen = grid.clientHeight - ROW;
      if (top < grid.scrollTop) grid.scrollTop = top;
      else if (top + ROW > grid.scrollTop + seen) grid.scrollTop = top + ROW - seen;
      draw(true);
    }
    function choose(id, on) {
      if (on) chosen[id] = 1; else delete chosen[id];
      tellChosen();
      draw(true);
    }
    // All that the filter leaves, or none of them.
    function chooseAll(on) {
      found.forEach(function (row) { if (on) chosen[row.id] = 1; else delete chosen[row.id]; });
      tellChosen();
      draw(true);
    }
    function tellChosen() {
      var n = Object.keys(chosen).length, here = found.filter(function (row) { return chosen[row.id]; }).length;
      compare.disabled = n < 1;
      compare.textContent = n ? 'Compare ' + n : 'Compare';
      allBox.checked = here > 0 && here === found.length;
      allBox.indeterminate = here > 0 && here < found.length;
    }
    function fold(i) { closed[lines[i].group] = !closed[lines[i].group]; arrange(); }
    grid.addEventListener('scroll', function () { requestAnimationFrame(function () { draw(false); }); });
    body.addEventListener('click', function (event) {
      var line = event.target.closest('.line');
      if (!line) return;
      at = Number(line.dataset.i);
      if (lines[at].group !== undefined) { fold(at); return; }
      if (event.target.closest('a')) return;
      if (event.ctrlKey || event.metaKey) choose(lines[at].row.id, !chosen[lines[at].row.id]);
      else if (s.data.has(lines[at].row.id)) location.hash = '#/job/' + lines[at].row.id;
    });
    grid.addEventListener('keydown', function (event) {
      var page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2), line = lines[at];
      var keys = {ArrowDown: at + 1, ArrowUp: at - 1, j: at + 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: lines.length - 1};
      if (event.key in keys && !event.ctrlKey && !event.metaKey) { moveTo(keys[event.key]); event.preventDefault(); }
      if (!line) return;
      if (event.key === 'Enter') { if (!line.row) fold(at); else if (s.data.has(line.row.id)) location.hash = '#/job/' + line.row.id; event.preventDefault(); }
      if (event.key === ' ' || event.key === 'x') { if (line.row) choose(line.row.id, !chosen[line.row.id]); else fold(at); event.preventDefault(); }
    });
    var refilter = s.later(60, function () { state.filter = search.value; address(); grid.scrollTop = 0; at = 0; arrange(); });
    search.addEventListener('input', refilter);
    search.addEventListener('keydown', function (event) { if (event.key === 'ArrowDown' || event.key === 'Enter') { grid.focus(); event.preventDefault(); } });
    group.addEventListener('change', function () { state.group = group.value; closed = Object.create(null); address(); arrange(); });
    compare.addEventListener('click', function () { location.hash = '#/compare/' + Object.keys(chosen).join(','); });
    more.addEventListener('click', function () {
      drop.hidden = !drop.hidden;
      more.setAttribute('aria-expanded', String(!drop.hidden));
      if (drop.hidden) return;
      var all = columnsOf.known(s.data.jobs.rows);
      s.empty(drop);
      var section = function (title, names) {
        if (names.length) s.add(drop, el('h3', title));
        names.forEach(function (name) {
          var box = el('input', {type: 'checkbox', checked: columns.indexOf(name) >= 0});
          box.addEventListener('change', function () {
            state.columns = columns.filter(function (c) { return c !== name; });
            if (box.checked) state.columns.push(name);
            address();
            arrange();
          });
          s.add(drop, el('label', box, s.text(titleOf(name), 80)));
        });
      };
      var usualOnes = el('button.quiet', {type: 'button'}, 'The usual ones');
      usualOnes.addEventListener('click', function () { state.columns = null; drop.hidden = true; address(); arrange(); });
      s.add(drop, usualOnes);
      section('Job', s.facts);
      section('Hyperparameters', Object.keys(all.hp).sort().slice(0, 200).map(function (n) { return 'hp.' + n; }));
      section('Metrics, last', Object.keys(all.metrics).sort().slice(0, 200).map(function (n) { return 'm.' + n; }));
      section('Metrics, least', Object.keys(all.metrics).sort().slice(0, 50).map(function (n) { return 'min.' + n; }));
      section('Metrics, greatest', Object.keys(all.metrics).sort().slice(0, 50).map(function (n) { return 'max.' + n; }));
    });
    function key(event) {
      if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { search.focus(); search.select(); event.preventDefault(); }
      if (event.key === 'Escape' && !drop.hidden) { drop.hidden = true; more.focus(); }
    }
    document.addEventListener('keydown', key);
    var renew = s.paced(700, function () { s.data.refreshJobs().then(arrange, function () {}); });
    var unlisten = s.data.listen(function (news) {
      if (news.jobs) renew();
    });
    var resized = s.later(100, arrange);
    window.addEventListener('resize', resized);
    var ages = setInterval(function () { if (!s.data.exported) draw(true); }, 5000);
    arrange();
    s.data.refreshJobs().then(arrange, function () {});
    return function () {
      renew = function () {};
      document.removeEventListener('keydown', key);
      window.removeEventListener('resize', resized);
      clearInterval(ages);
      unlisten();
    };
  };
})(stoker);
