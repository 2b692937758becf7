// SPDX-License-Identifier: Apache-2.0
// What a job's row has by name, and which rows a filter means: words that occur in it, and
// conditions as `stoker ls --where` takes them ("lr<0.1 and state=Succeeded").
'use strict';
(function (s) {
  var facts = {
    id: function (r) { return r.id; },
    name: function (r) { return r.name; },
    state: function (r) { return r.state || 'Unreadable'; },
    user: function (r) { return r.user; },
    where: function (r) { return r.where; },
    reason: function (r) { return r.reason; },
    attempts: function (r) { return r.attempts; },
    nodes: function (r) { return r.nodes; },
    age: function (r) { return (s.now() - r.at) / 1000; },
    duration: function (r) { return ((r.ended ? s.time(r.ended) : s.now()) - r.at) / 1000; },
    ran: function (r) { return (r.run_ms || 0) / 1000; },
    checkpoint: function (r) { return r.newest_checkpoint; },
    command: function (r) { return r.command; },
    tags: function (r) { return r.tags && r.tags.length ? r.tags : undefined; },
    note: function (r) { return r.note; },
  };
  s.facts = Object.keys(facts);
  // undefined: this job has no such thing.
  s.field = function (row, name) {
    if (name === 'tag') name = 'tags';
    if (Object.prototype.hasOwnProperty.call(facts, name)) return facts[name](row);
    var kind = /^(hp|m|min|max|last)\.(.*)$/.exec(name);
    var metric = function (of, part) {
      if (!row.metrics || !Object.prototype.hasOwnProperty.call(row.metrics, of)) return undefined;
      var value = row.metrics[of][part];
      return typeof value === 'number' ? value : s.finite(value);
    };
    var hyper = function (of) {
      if (!row.hp || !Object.prototype.hasOwnProperty.call(row.hp, of)) return undefined;
      var text = row.hp[of];
      return text !== '' && !isNaN(text) ? Number(text) : text;
    };
    if (kind && kind[1] === 'hp') return hyper(kind[2]);
    if (kind && kind[1] === 'm') return metric(kind[2], 'last');
    if (kind) return metric(kind[2], kind[1]);
    var value = metric(name, 'last');
    return value === undefined ? hyper(name) : value;
  };

  var seconds = {s: 1, m: 60, h: 3600, d: 86400};
  function valueOf(text) {
    if (/^(".*"|'.*')$/.test(text)) return text.slice(1, -1);
    var length = /^([0-9.]+)([smhd])$/.exec(text);
    if (length) return Number(length[1]) * seconds[length[2]];
    return text !== '' && !isNaN(text) ? Number(text) : text;
  }
  function compare(a, op, b) {
    if (a === undefined || a === null) return op === '!=';
    if (Array.isArray(a) && (op === '=' || op === '!=')) return (a.indexOf(String(b)) >= 0) === (op === '=');
    var both = typeof a === 'number' && typeof b === 'number';
    if (!both) { a = String(a).toLowerCase(); b = String(b).toLowerCase(); }
    switch (op) {
      case '=': return a === b;
      case '!=': return a !== b;
      case '<': return a < b;
      case '<=': return a <= b;
      case '>': return a > b;
      default: return a >= b;
    }
  }
  s.filter = function (text) {
    var terms = [];
    (text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) || []).forEach(function (word) {
      if (word.toLowerCase() === 'and') return;
      var parts = /^([^=!<>]+)(<=|>=|!=|==|=|<|>)(.+)$/.exec(word);
      if (parts) {
        var op = parts[2] === '==' ? '=' : parts[2], value = valueOf(parts[3]), name = parts[1];
        terms.push(function (row) { return compare(s.field(row, name), op, value); });
      } else {
        var part = word.replace(/^["']|["']$/g, '').toLowerCase();
        terms.push(function (row) {
          var all = row.id + ' ' + (row.name || '') + ' ' + row.state + ' ' + row.user + ' ' + row.reason + ' ' +
              (row.tags || []).join(' ') + ' ' + (row.note || '') + ' ' + (row.command || '');
          return all.toLowerCase().indexOf(part) >= 0;
        });
      }
    });
    return function (row) { return terms.every(function (term) { return term(row); }); };
  };
  // A new list. Numbers before texts, what is missing last, whichever way. Each value is asked for
  // once: there may be ten thousand.
  s.sorted = function (rows, name, down) {
    var keyed = rows.map(function (row, i) {
      var value = s.field(row, name);
      var kind = value === undefined || value === null || value === '' || (typeof value === 'number' && isNaN(value)) ? 2
        : typeof value === 'number' ? 0 : 1;
      return {row: row, i: i, kind: kind, value: kind === 1 ? String(value) : value};
    });
    keyed.sort(function (a, b) {
      if (a.kind !== b.kind) return a.kind - b.kind;
      if (a.kind === 2 || a.value === b.value) return a.i - b.i;
      var by = a.value < b.value ? -1 : 1;
      return down ? -by : by;
    });
    return keyed.map(function (each) { return each.row; });
  };
})(stoker);
