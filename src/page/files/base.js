// SPDX-License-Identifier: Apache-2.0
// What every view uses: elements out of text alone, and how numbers and times are written.
// Nothing here, or anywhere on the page, makes markup out of text.
'use strict';
var stoker = {views: {}};

(function (s) {
  // Controls, and what turns the direction of writing: shown as what they are not.
  var odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
  s.clean = function (text, most) {
    text = text === null || text === undefined ? '' : String(text);
    most = most || 500;
    if (text.length > most) text = text.slice(0, most) + '…';
    return text.replace(odd, '\ufffd');
  };

  // el('a.link', {href: …, on: {click: …}}, children…): strings become text.
  s.el = function (what, attributes) {
    var parts = what.split('.');
    var made = document.createElement(parts[0]);
    if (parts.length > 1) made.className = parts.slice(1).join(' ');
    var from = 1;
    if (attributes && typeof attributes === 'object' && !attributes.nodeType && !Array.isArray(attributes)) {
      from = 2;
      Object.keys(attributes).forEach(function (key) {
        var value = attributes[key];
        if (value === null || value === undefined || value === false) return;
        if (key === 'on') {
          Object.keys(value).forEach(function (event) { made.addEventListener(event, value[event]); });
        } else if (key === 'value' || key === 'checked' || key === 'disabled') {
          made[key] = value;
        } else {
          made.setAttribute(key, value === true ? '' : value);
        }
      });
    }
    for (var i = from; i < arguments.length; ++i) s.add(made, arguments[i]);
    return made;
  };
  s.add = function (to, child) {
    if (child === null || child === undefined || child === false) return;
    if (Array.isArray(child)) child.forEach(function (each) { s.add(to, each); });
    else to.appendChild(child.nodeType ? child : document.createTextNode(String(child)));
  };
  // A name or another text of others: its direction is its own affair.
  s.text = function (text, most) { return s.el('bdi', s.clean(text, most)); };
  s.svg = function (what, attributes) {
    var made = document.createElementNS('http://www.w3.org/2000/svg', what);
    Object.keys(attributes || {}).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    for (var i = 2; i < arguments.length; ++i) s.add(made, arguments[i]);
    return made;
  };
  s.empty = function (node) { while (node.firstChild) node.removeChild(node.firstChild); return node; };

  // `more`: digits beyond the usual ones, where neighbours would look the same.
  s.number = function (value, more) {
    more = more || 0;
    if (value === null || value === undefined || value === '') return '';
    if (typeof value === 'string') return s.clean(value, 40);
    if (!isFinite(value)) return isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
    if (value === 0) return '0';
    var size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2 + more).replace(/\.?0+e/, 'e').replace('e+', 'e');
    if (Math.floor(value) === value) return String(value);
    return String(Number(value.toPrecision(4 + more)));
  };
  s.finite = function (value) {  // "nan", "inf", "-inf" are texts in JSON
    if (typeof value === 'number') return value;
    return value === 'inf' ? Infinity : value === '-inf' ? -Infinity : NaN;
  };
  s.bytes = function (value, more) {
    more = more || 0;
    if (value === null || value === undefined) return '';
    var names = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'], at = 0;
    while (value >= 1000 && at < 5) { value /= 1000; ++at; }
    return (at === 0 || value >= 100 && !more ? Math.round(value) : value.toFixed(1 + more)) + ' ' + names[at];
  };
  s.duration = function (ms) {
    if (ms === null || ms === undefined || isNaN(ms)) return '';
    var sec = Math.max(0, Math.round(ms / 1000));
    if (sec < 60) return sec + 's';
    if (sec < 3600) return Math.floor(sec / 60) + 'm ' + (sec % 60 ? (sec % 60) + 's' : '');
    var hours = Math.floor(sec / 3600);
    if (hours < 48) return hours + 'h ' + Math.floor(sec % 3600 / 60) + 'm';
    return Math.floor(hours / 24) + 'd ' + hours % 24 + 'h';
  };
  s.age = function (time) { return s.duration(s.now() - time).split(' ')[0]; };
  s.skew = 0;  // of this clock to the store's
  s.now = function () { return s.data && s.data.frozen ? s.data.frozen : Date.now() + s.skew; };
  s.time = function (text) { return text ? Date.parse(text) : NaN; };
  s.clock = function (ms) {
    var d = new Date(ms), two = function (n) { return (n < 10 ? '0' : '') + n; };
    return d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate()) + ' ' +
        two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds());
  };

  s.badge = function (state) {
    return s.el('span.badge', {'data-state': state || 'Unreadable'}, state || 'Unreadable');
  };
  // So wide may a drawing be: its letters then have the size of the page's.
  s.room = function (most) { return Math.max(320, Math.min(most, document.getElementById('main').clientWidth - 66)); };
  s.isFinal = function (state) {
    return state === 'Succeeded' || state === 'Failed' || state === 'Cancelled';
  };

  // Colours of runs and series: told apart by those who see few colours, light and dark.
  var light = ['#1f6feb', '#d9480f', '#0b7a75', '#a61e4d', '#6741d9', '#2b8a3e', '#946200', '#495057'];
  var dark = ['#6ea8fe', '#ff9f5a', '#4fd1c5', '#f783ac', '#b197fc', '#69db7c', '#ffd43b', '#ced4da'];
  s.isDark = function () {
    var chosen = document.documentElement.getAttribute('data-theme');
    if (chosen) return chosen === 'dark';
    return window.matchMedia && window.matchMedia('(prefers-color-scheme: dark)').matches;
  };
  s.colour = function (index) { var all = s.isDark() ? dark : light; return all[index % all.length]; };
  // Of attempts, the nth of so many: the newest has the colour itself, those before it paler shades.
  s.tint = function (colour, n, of) {
    if (n >= of) return colour;
    var paper = s.isDark() ? [23, 28, 35] : [255, 255, 255], weight = 0.45 + 0.4 * (n - 1) / Math.max(1, of - 1);
    return '#' + [1, 3, 5].map(function (from, i) {
      var part = parseInt(colour.slice(from, from + 2), 16);
      return ('0' + Math.round(paper[i] + (part - paper[i]) * weight).toString(16)).slice(-2);
    }).join('');
  };
  // Of many runs by what came of them: 0 is the worst, 1 the best; null: nobody knows.
  var shades = {light: ['#c2cad4', '#8fb5de', '#3f86d6', '#6741d9', '#b8400a'], dark: ['#3d4957', '#4a6fa8', '#4fa8e8', '#4fd1c5', '#ffd43b']};
  s.shade = function (p) {
    if (p === null) return s.isDark() ? '#5b6673' : '#a7b0bb';
    var all = s.isDark() ? shades.dark : shades.light, at = p * (all.length - 1), i = Math.min(all.length - 2, Math.floor(at));
    var part = function (from) {
      var a = parseInt(all[i].slice(from, from + 2), 16), b = parseInt(all[i + 1].slice(from, from + 2), 16);
      return ('0' + Math.round(a + (b - a) * (at - i)).toString(16)).slice(-2);
    };
    return '#' + part(1) + part(3) + part(5);
  };
  s.style = function (name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  };

  s.later = function (wait, work) {  // once, when nothing more has come for `wait` ms
    var timer = 0;
    return function () {
      var self = this, given = arguments;
      clearTimeout(timer);
      timer = setTimeout(function () { work.apply(self, given); }, wait);
    };
  };
  // Now, and then at most each `wait` ms.
  s.paced = function (wait, work) {
    var timer = 0, last = 0;
    return function () {
      if (timer) return;
      timer = setTimeout(function () { timer = 0; last = Date.now(); work(); },
                         Math.max(0, last + wait - Date.now()));
    };
  };
})(stoker);
