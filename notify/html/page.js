(function () {
  'use strict';
  var form = document.getElementById('filter');
  if (!form) { return; }
  var names = ['q', 'owner', 'severity', 'rule'];
  var fields = {};
  names.forEach(function (n) { fields[n] = document.getElementById('filter-' + n); });
  var rows = Array.prototype.slice.call(document.querySelectorAll('#rows > .finding'));
  var count = document.getElementById('filter-count');
  form.hidden = false;

  function apply() {
    var q = fields.q.value.trim().toLowerCase();
    var owner = fields.owner.value, severity = fields.severity.value, rule = fields.rule.value;
    var shown = 0;
    rows.forEach(function (row) {
      var d = row.dataset;
      var fits = (!q || d.text.indexOf(q) >= 0 || d.owners.toLowerCase().indexOf(q) >= 0) &&
        (!owner || d.owners.indexOf('\n' + owner + '\n') >= 0) &&
        (!severity || d.severity === severity) && (!rule || d.rule === rule);
      row.hidden = !fits;
      if (fits) { shown++; }
    });
    count.textContent = shown === rows.length ? rows.length + ' rows' : shown + ' of ' + rows.length + ' rows';
  }

  // The fragment is either the ID of an element or the filters.
  function read() {
    var fragment = location.hash.slice(1);
    if (fragment.indexOf('=') < 0) {
      var target = fragment && document.getElementById(fragment);
      var row = target && target.closest('.finding');
      if (row) { row.hidden = false; row.open = true; target.scrollIntoView(); }
      return;
    }
    var params = new URLSearchParams(fragment);
    names.forEach(function (n) { fields[n].value = params.get(n) || ''; });
    apply();
  }

  function write() {
    var params = new URLSearchParams();
    names.forEach(function (n) { if (fields[n].value) { params.set(n, fields[n].value); } });
    var text = params.toString();
    history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
    apply();
  }

  form.addEventListener('input', write);
  form.addEventListener('submit', function (e) { e.preventDefault(); });
  form.addEventListener('reset', function () { setTimeout(write, 0); });
  document.addEventListener('click', function (e) {
    var pick = e.target.closest('a.pick');
    if (!pick) { return; }
    e.preventDefault();
    form.reset();
    fields.owner.value = pick.dataset.owner;
    write();
    document.getElementById('findings').scrollIntoView();
  });
  window.addEventListener('hashchange', read);
  window.addEventListener('beforeprint', function () { rows.forEach(function (row) { row.open = true; }); });
  apply();
  read();
})();
