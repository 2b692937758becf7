// SPDX-License-Identifier: Apache-2.0
// Where the views' facts come from: the server of `stoker ui`, or, in an export, scripts beside the
// page that call stoker.data.take(name, value). One event stream a browser: one tab holds it and
// tells the others.
'use strict';
(function (s) {
  var taken = {}, waiting = {}, listeners = [];
  var data = s.data = {
    exported: !!window.stokerExport,
    frozen: window.stokerExport ? window.stokerExport.at : 0,
    session: null,
    // Whether a job has a page of its own: in an export not all have.
    has: function (id) { return !window.stokerExport || !window.stokerExport.jobs || window.stokerExport.jobs.indexOf(id) >= 0; },
    jobs: {stamp: 0, rows: [], byId: {}},
  };

  data.take = function (name, value) {
    taken[name] = value;
    (waiting[name] || []).forEach(function (each) { each[0](value); });
    delete waiting[name];
  };
  function fromScript(name) {
    if (name in taken) return Promise.resolve(taken[name]);
    return new Promise(function (done, failed) {
      if (waiting[name]) { waiting[name].push([done, failed]); return; }
      waiting[name] = [[done, failed]];
      var script = document.createElement('script');
      script.src = 'data/' + name + '.js';
      script.onerror = function () {
        (waiting[name] || []).forEach(function (each) { each[1](new Error('not in this export')); });
        delete waiting[name];
      };
      document.head.appendChild(script);
    });
  }

  function ask(path, query) {
    var parts = Object.keys(query || {}).filter(function (key) {
      return query[key] !== undefined && query[key] !== null && query[key] !== '';
    }).map(function (key) { return key + '=' + encodeURIComponent(query[key]); });
    return fetch('api/' + path + (parts.length ? '?' + parts.join('&') : ''),
                 {credentials: 'same-origin'}).then(function (answer) {
      if (answer.ok) { s.offline(''); return answer.json(); }
      return answer.text().then(function (text) {
        var why = text;
        try { why = JSON.parse(text).error || text; } catch (e) { /* plain text */ }
        var error = new Error(why);
        error.status = answer.status;
        if (answer.status === 401) s.offline(why);
        throw error;
      });
    }, function () {
      s.offline('stoker ui does not answer: start it again, and open its new link');
      throw new Error('stoker ui does not answer');
    });
  }

  // Of a job, by what is asked of it.
  data.of = function (what, id, query) {
    if (!data.exported) return ask(what, Object.assign({id: id}, query));
    return fromScript('job-' + id).then(function (all) {
      if (!(what in all)) throw new Error('not in this export');
      return all[what];
    });
  };
  data.series = function (id, query) {
    if (!data.exported) return ask('series', Object.assign({id: id}, query));
    var names = query.names ? JSON.parse(query.names) : null;
    return data.of('series', id).then(function (all) {
      return {series: all.series.filter(function (one) {
        return !names || names.indexOf(one.name) >= 0;
      }), troubles: all.troubles};
    });
  };
  data.begin = function () {
    if (data.exported) return Promise.resolve();
    return ask('session').then(function (session) { data.session = session; });
  };
  data.refreshJobs = function () {
    var jobs = data.jobs;
    var got = data.exported ? fromScript('jobs') : ask('jobs', {since: jobs.stamp});
    return got.then(function (answer) {
      if (answer.all) jobs.byId = {};
      answer.gone.forEach(function (id) { delete jobs.byId[id]; });
      answer.rows.forEach(function (row) {
        row.at = s.time(row.created);
        jobs.byId[row.id] = row;
      });
      jobs.stamp = answer.stamp;
      jobs.warnings = answer.warnings;
      if (answer.rows.length || answer.gone.length || answer.all) {
        jobs.rows = Object.keys(jobs.byId).map(function (id) { return jobs.byId[id]; });
        jobs.rows.sort(function (a, b) { return (b.at || 0) - (a.at || 0) || (a.id < b.id ? -1 : 1); });
      }
      return jobs;
    });
  };
  data.act = function (verb, id) {
    return fetch('api/act?verb=' + verb + '&id=' + encodeURIComponent(id), {
      method: 'POST', credentials: 'same-origin', headers: {'X-Stoker-Token': data.session.token},
    }).then(function (answer) { return answer.json(); }).then(function (answer) {
      if (!answer.done) throw new Error(answer.text || answer.error || 'it was refused');
      return answer;
    });
  };
  data.download = function (id, of, path) {
    return 'download?id=' + encodeURIComponent(id) + '&of=' + encodeURIComponent(of) + '&path=' +
        encodeURIComponent(path);
  };

  // ---- what is new ----
  data.listen = function (each) {
    listeners.push(each);
    return function () { listeners = listeners.filter(function (one) { return one !== each; }); };
  };
  function tell(news) { listeners.slice().forEach(function (each) { each(news); }); }
  function hold(channel) {
    var source = new EventSource('api/events');
    source.onopen = function () { s.live(true); if (channel) channel.postMessage({open: 1}); tell({jobs: 1, again: 1}); };
    source.onerror = function () { s.live(false); if (channel) channel.postMessage({lost: 1}); };
    source.onmessage = function (message) {
      var news = JSON.parse(message.data);
      if (channel) channel.postMessage(news);
      tell(news);
    };
  }
  data.follow = function () {
    if (data.exported) return;
    var channel = window.BroadcastChannel ? new BroadcastChannel('stoker-events') : null;
    if (channel) {
      channel.onmessage = function (message) {
        if (message.data.lost) s.live(false);
        else { s.live(true); if (!message.data.open) tell(message.data); }
      };
    }
    if (channel && navigator.locks) {
      s.live(true);
      navigator.locks.request('stoker-events', function () {
        hold(channel);
        return new Promise(function () {});  // until this tab is gone
      });
    } else {
      hold(null);
    }
  };
})(stoker);
