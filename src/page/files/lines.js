// SPDX-License-Identifier: Apache-2.0
// Series of the server as lines of a chart.
'use strict';
(function (s) {
  // Entries of a series of the server as a line. x: "step", "time" (of day), "rel" (minutes of the
  // run). Of what lies at one x the newest counts, and the band holds all: a program may step back.
  function lineFrom(one, x, begun, entries) {
    var out = {x: [], time: [], step: [], attempt: [], value: [], low: [], high: []};
    var at = function (i) { return x === 'step' ? one.last_step[i] : x === 'time' ? one.time[i] : (one.time[i] - begun) / 60000; };
    entries.sort(function (a, b) { return at(a) - at(b) || a - b; });
    entries.forEach(function (i) {
      var n = out.x.length - 1, low = s.finite(one.min[i]), high = s.finite(one.max[i]);
      if (n >= 0 && out.x[n] === at(i)) {
        if (isFinite(out.low[n])) low = isFinite(low) ? Math.min(low, out.low[n]) : out.low[n];
        if (isFinite(out.high[n])) high = isFinite(high) ? Math.max(high, out.high[n]) : out.high[n];
      } else {
        ++n;
      }
      out.x[n] = at(i);
      out.time[n] = one.time[i];
      out.step[n] = one.last_step[i];
      out.attempt[n] = one.attempt[i];
      out.value[n] = one.nans[i] > 0 && one.count[i] === one.nans[i] ? NaN : s.finite(one.last[i]);
      out.low[n] = low;
      out.high[n] = high;
    });
    return out;
  }
  s.lineOf = function (one, x, begun) {
    var entries = [];
    one.redone.forEach(function (again, i) { if (!again) entries.push(i); });
    return lineFrom(one, x, begun, entries);
  };
  // A line of one run as a line for each attempt, each going on where the one before it was; of more
  // than `most` the oldest are one.
  s.byAttempt = function (line, most) {
    var parts = [], columns = Object.keys(line).filter(function (key) { return Array.isArray(line[key]); });
    line.attempt.forEach(function (attempt, i) {
      var last = parts[parts.length - 1];
      if (last && last.attempt === attempt) { last.to = i + 1; return; }
      parts.push({attempt: attempt, from: Math.max(0, i - 1), to: i + 1});
    });
    if (parts.length > most) parts.splice(0, parts.length - most + 1, {attempt: 'up to ' + parts[parts.length - most].attempt, from: 0, to: parts[parts.length - most].to});
    return parts.map(function (part) {
      var out = {name: 'attempt ' + part.attempt};
      columns.forEach(function (key) { out[key] = line[key].slice(part.from, part.to); });
      return out;
    });
  };
  // What was done again, a line for each attempt: nothing joins them.
  s.redoneOf = function (one, x, begun) {
    var by = {};
    one.redone.forEach(function (again, i) { if (again) (by[one.attempt[i]] = by[one.attempt[i]] || []).push(i); });
    return Object.keys(by).map(function (attempt) { return lineFrom(one, x, begun, by[attempt]); });
  };
})(stoker);
