// SPDX-License-Identifier: Apache-2.0
// Cancel, retry and preempt, each after a question.
'use strict';
(function (s) {
  var el = s.el;
  var words = {
    cancel: ['Cancel', 'Stop this job? Its logs, checkpoints and outputs are kept.'],
    preempt: ['Preempt', 'Give its machines a real interruption notice of 30 s? The job saves a ' +
              'checkpoint, moves and goes on: a fire drill.'],
    retry: ['Retry', 'Run the same code again as a new job, from its newest checkpoint?'],
  };
  function said(text, failed, made) {
    var box = document.querySelector('.toast') || document.body.appendChild(el('div.toast', {role: 'status'}));
    s.empty(box);
    s.add(box, s.clean(text, 600));
    if (made) s.add(box, [' ', el('a', {href: '#/job/' + made}, 'Open it')]);
    box.classList.toggle('failed', !!failed);
    box.hidden = false;
    clearTimeout(said.timer);
    said.timer = setTimeout(function () { box.hidden = true; }, failed ? 12000 : 6000);
  }
  s.ask = function (verb, job) {
    var dialog = el('dialog.ask', {'aria-labelledby': 'ask-title'});
    var go = el('button.' + (verb === 'cancel' ? 'danger' : 'primary'), {type: 'button'}, words[verb][0] + ' this job');
    var stay = el('button', {type: 'button', autofocus: true}, 'Leave it');
    s.add(dialog, [el('h2', {id: 'ask-title'}, words[verb][0] + ' ', s.text(job.name, 80)),
                   el('p', words[verb][1]),
                   el('p.dim', el('code', 'stoker ' + verb + ' ' + job.id), ' does the same.'),
                   el('div.row', stay, go)]);
    stay.addEventListener('click', function () { dialog.close(); });
    dialog.addEventListener('close', function () { dialog.remove(); });
    go.addEventListener('click', function () {
      go.disabled = true;
      go.textContent = 'Asking…';
      s.data.act(verb, job.id).then(function (acted) {
        dialog.close();
        if (acted.made) said('Begun again as job ' + acted.made + '. ' + (acted.text || ''), false, acted.made);
        else said(acted.text || 'Done.');
        s.data.refreshJobs();
      }, function (error) { dialog.close(); said(error.message, true); });
    });
    document.body.appendChild(dialog);
    dialog.showModal();
  };
  // The buttons that make sense for a job in this state.
  s.actionsFor = function (job) {
    if (s.data.exported) return [];
    var verbs = s.isFinal(job.state) ? ['retry'] : ['preempt', 'cancel'];
    return verbs.map(function (verb) {
      return el('button' + (verb === 'cancel' ? '.danger' : ''),
                {type: 'button', on: {click: function () { s.ask(verb, job); }}}, words[verb][0]);
    });
  };
})(stoker);
