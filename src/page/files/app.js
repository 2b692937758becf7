// SPDX-License-Identifier: Apache-2.0
// Which view the address means, and what stands around all of them.
'use strict';
(function (s) {
  var main = document.getElementById('main'), crumbs = document.getElementById('crumbs');
  var live = document.getElementById('live'), banner = document.getElementById('banner');
  var leave = null, shown = '';

  s.live = function (on) { live.classList.toggle('on', on); live.textContent = on ? 'live' : 'not live'; };
  s.offline = function (why) { banner.hidden = !why; banner.textContent = why ? s.clean(why, 300) : ''; };

  function parse() {
    var hash = location.hash.replace(/^#\/?/, ''), mark = hash.indexOf('?');
    var path = (mark < 0 ? hash : hash.slice(0, mark)).split('/'), query = {};
    (mark < 0 ? '' : hash.slice(mark + 1)).split('&').forEach(function (part) {
      var at = part.indexOf('=');
      if (at > 0) { try { query[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); } catch (e) { /* no text */ } }
    });
    var view = path.shift() || 'jobs';
    return {view: Object.prototype.hasOwnProperty.call(s.views, view) ? view : 'jobs', rest: path, query: query};
  }
  var go = {
    // The same view as seen now, without leaving it.
    replace: function (path, query) {
      var parts = Object.keys(query).filter(function (k) { return query[k] !== '' && query[k] !== null && query[k] !== undefined; })
          .map(function (k) { return k + '=' + encodeURIComponent(query[k]); });
      var to = path + (parts.length ? '?' + parts.join('&') : '');
      if (location.hash !== to) history.replaceState(null, '', to);
      if (/^#\/jobs/.test(to)) go.jobs = to;
    },
    title: function (text) { document.title = s.clean(text, 100) + ' · stoker'; },
    jobs: '#/jobs',
  };
  function drawCrumbs(where) {
    s.empty(crumbs);
    s.add(crumbs, s.el('a', {href: go.jobs, 'aria-current': where.view === 'jobs' ? 'page' : null}, 'Jobs'));
    if (where.view === 'job') s.add(crumbs, s.el('a', {href: '#/job/' + where.rest[0], 'aria-current': 'page'}, s.text(where.rest[0], 40)));
    if (where.view === 'compare') s.add(crumbs, s.el('a', {href: location.hash, 'aria-current': 'page'}, 'Comparison'));
  }
  function open() {
    var where = parse();
    if (leave) leave();
    leave = null;
    s.empty(main);
    document.title = 'stoker';
    if (where.view === 'job' && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(where.rest[0] || '')) { location.hash = '#/jobs'; return; }
    drawCrumbs(where);
    leave = s.views[where.view](main, where.query, go, where.rest);
    if (shown && shown !== where.view + where.rest[0]) { main.focus({preventScroll: true}); window.scrollTo(0, 0); }
    shown = where.view + where.rest[0];
  }
  window.addEventListener('hashchange', open);

  var theme = document.getElementById('theme');
  try { var kept = localStorage.getItem('stoker-theme'); if (kept) document.documentElement.setAttribute('data-theme', kept); } catch (e) { /* not kept */ }
  function repaint() { if (leave && leave.repaint) leave.repaint(); }
  theme.addEventListener('click', function () {
    var next = s.isDark() ? 'light' : 'dark';
    document.documentElement.setAttribute('data-theme', next);
    try { localStorage.setItem('stoker-theme', next); } catch (e) { /* not kept */ }
    repaint();
  });
  if (window.matchMedia) window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);

  if (s.data.exported) {
    live.textContent = 'as of ' + s.clock(s.data.frozen);
  } else {
    s.live(false);
  }
  s.data.begin().then(function () {
    return s.data.refreshJobs();
  }).then(function () {
    open();
    s.data.follow();
  }, function (error) {
    s.empty(main);
    s.add(main, s.el('div.panel.note', s.text(error.message, 300)));
  });
})(stoker);
