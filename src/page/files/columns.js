// SPDX-License-Identifier: Apache-2.0
// The columns of the table of jobs: which there are, which are shown where nobody has chosen, what
// stands in them, and how wide they are.
'use strict';
(function (s) {
  var titles = {attempts: 'attempts', ran: 'ran', checkpoint: 'checkpoint'};
  var times = {age: 1, duration: 1, ran: 1};
  var columns = s.columns = {};

  columns.title = function (column) {
    return titles[column] || column.replace(/^(hp|m)\./, '').replace(/^(min|max)\./, '$1 ');
  };
  columns.isNumber = function (column) {
    return /^(m|min|max)\./.test(column) || times[column] || column === 'attempts' || column === 'nodes';
  };

  // What jobs have, and how many of them.
  columns.known = function (rows) {
    var hp = Object.create(null), metrics = Object.create(null), states = Object.create(null);
    rows.forEach(function (row) {
      var state = row.state || 'Unreadable', name;
      states[state] = (states[state] || 0) + 1;
      for (name in row.hp) {
        var one = hp[name] || (hp[name] = {count: 0, first: row.hp[name], several: false});
        ++one.count;
        if (row.hp[name] !== one.first) one.several = true;
      }
      for (name in row.metrics) metrics[name] = (metrics[name] || 0) + 1;
    });
    return {hp: hp, metrics: metrics, states: states};
  };
  // Where nobody has chosen: what differs, and what most jobs measure.
  columns.usual = function (all, rows) {
    var several = function (column) { return rows.some(function (row) { return row[column] !== rows[0][column]; }); };
    var told = function (row) { return row.reason && row.reason !== 'None' && row.reason !== 'Completed'; };
    var chosen = ['name', 'id', 'state', 'age', 'duration'], later = [], less = [];
    if (several('attempts')) chosen.push('attempts');
    if (rows.some(told)) chosen.push('reason');
    ['tags', 'note'].forEach(function (column) { if (rows.some(function (row) { return s.field(row, column); })) chosen.push(column); });
    ['where', 'user'].forEach(function (column) { if (several(column)) less.push(column); });
    var byCount = function (of) { return function (a, b) { return of(b) - of(a) || (a < b ? -1 : 1); }; };
    Object.keys(all.hp).filter(function (name) { return all.hp[name].several; })
        .sort(byCount(function (n) { return all.hp[n].count; })).slice(0, 3)
        .forEach(function (name, i) { (i < 2 ? chosen : later).push('hp.' + name); });
    var good = function (n) { return all.metrics[n] + (/acc|loss|reward|auc|f1/i.test(n) ? 1e6 : 0) + (/val|eval|test/i.test(n) ? 2e6 : 0); };
    Object.keys(all.metrics).sort(byCount(good)).slice(0, 3).forEach(function (name, i) { (i < 1 ? chosen : later).push('m.' + name); });
    chosen = chosen.concat('command', later);  // what has no room is left out from the end
    if (window.innerWidth < 700) {  // what counts first, where there is room for little
      var first = chosen.filter(function (c) { return /^m\./.test(c); }).slice(0, 1);
      chosen = ['name', 'state'].concat(first, chosen.slice(2).filter(function (c) { return c !== first[0]; }));
    }
    // What is empty in all of them is no column.
    return chosen.concat(less).filter(function (column) { return rows.some(function (row) { return columns.text(row, column) !== ''; }); });
  };

  columns.text = function (row, column) {
    var value = s.field(row, column);
    if (value === undefined || value === null || value === '') return '';
    if (times[column]) return column === 'age' ? s.duration(value * 1000).split(' ')[0] : s.duration(value * 1000);
    if (column === 'reason') return value === 'None' || value === 'Completed' ? '' : value;
    if (Array.isArray(value)) return s.clean(value.join(' '), 120);
    return typeof value === 'number' ? s.number(value) : s.clean(value, 120);
  };

  // As wide as what stands in them; they grow, and do not shrink while somebody looks.
  // [{least, css}].
  columns.widths = function (chosen, rows, grown) {
    var small = window.innerWidth < 700, part = rows.length > 300 ? rows.slice(0, 300) : rows;
    return chosen.map(function (column) {
      if (column === 'id') return {least: 96, css: '96px'};
      if (column === 'state') return small ? {least: 96, css: '96px'} : {least: 118, css: '118px'};
      var most = columns.title(column).length + (columns.isNumber(column) ? 2 : 1);
      part.forEach(function (row) {
        var text = column === 'name' ? row.name || row.id : columns.text(row, column);
        if (text.length > most) most = text.length;
      });
      var wide = Math.min(column === 'name' ? (small ? 132 : 300) : column === 'command' ? 160 : 210, Math.max(56, Math.ceil((most * 7.6 + (small ? 14 : 24)) / 8) * 8));
      wide = grown[column] = Math.max(wide, grown[column] || 0);
      return {least: wide, css: column === 'name' ? 'minmax(' + wide + 'px, 1fr)' : wide + 'px'};
    });
  };
  // Where nobody has chosen, what has no room is left out from the end; three stay.
  columns.fitting = function (chosen, widths, room) {
    var sum = 48, count = 0;
    widths.forEach(function (w, i) { sum += w.least; if (sum <= room && count === i) ++count; });
    return Math.max(3, count);
  };
})(stoker);
