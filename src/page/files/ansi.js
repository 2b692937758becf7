// SPDX-License-Identifier: Apache-2.0
// A line of a log as spans: the colours that programs ask for by ESC [ … m, and nothing else of
// what follows an escape character.
'use strict';
(function (s) {
  var any = /\u001b\[([0-9;:]*)([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[PX^_][^\u001b]*(?:\u001b\\)?|\u001b[ -/]*[0-~]?|\u009b[0-?]*[ -/]*[@-~]?/g;
  function apply(style, codes) {
    codes.split(/[;:]/).forEach(function (code, i, all) {
      var n = Number(code || 0);
      if (all.skip && i <= all.skip) return;
      if (n === 0) { style.colour = ''; style.b = style.u = style.i = style.f = false; }
      else if (n === 1) style.b = true;
      else if (n === 2) style.f = true;
      else if (n === 3) style.i = true;
      else if (n === 4) style.u = true;
      else if (n === 22) style.b = style.f = false;
      else if (n === 23) style.i = false;
      else if (n === 24) style.u = false;
      else if (n >= 30 && n <= 37) style.colour = 'c' + (n - 30);
      else if (n >= 90 && n <= 97) style.colour = 'c' + (n - 90);
      else if (n === 39) style.colour = '';
      else if (n === 38 || n === 48) {
        all.skip = i + (all[i + 1] === '2' ? 4 : 2);
        if (n === 38 && all[i + 1] === '5' && Number(all[i + 2]) < 16) style.colour = 'c' + Number(all[i + 2]) % 8;
      }
    });
  }
  // [{text, classes}]; `style` goes on into the next line.
  s.ansi = function (line, style) {
    var out = [], from = 0, found;
    var take = function (text) {
      text = s.clean(text, 1e9);
      if (!text) return;
      var classes = [style.colour, style.b && 'b', style.u && 'u', style.i && 'i', style.f && 'f'].filter(Boolean).join(' ');
      out.push({text: text, classes: classes});
    };
    any.lastIndex = 0;
    while ((found = any.exec(line))) {
      take(line.slice(from, found.index));
      from = found.index + found[0].length;
      if (found[2] === 'm') apply(style, found[1]);
      if (found[0].length === 0) ++any.lastIndex;
    }
    take(line.slice(from));
    return out;
  };
  s.plain = function (line) {
    if (line.indexOf('\u001b') < 0 && line.indexOf('\u009b') < 0) return s.clean(line, 1e9);
    return s.ansi(line, {}).map(function (p) { return p.text; }).join('');
  };
})(stoker);
