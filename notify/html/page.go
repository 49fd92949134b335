package html

import (
	"bytes"
	"html"
	"strconv"
)

// page is written piece by piece, as markup or as text. html/template would do, but it
// calls methods by name, which makes the linker keep every exported method of the program:
// the binary was twice as large, and took twice the memory.
type page struct{ bytes.Buffer }

// markup is HTML of this package. A constant converts implicitly, text of a cluster does
// not.
type markup string

// raw writes markup.
func (p *page) raw(m markup) { p.WriteString(string(m)) }

// text writes text in an element or in an attribute in double quotes.
func (p *page) text(s string) { p.WriteString(html.EscapeString(s)) }

// with writes markup, text and markup.
func (p *page) with(before markup, s string, after markup) {
	p.raw(before)
	p.text(s)
	p.raw(after)
}

// optional is with, unless the text is empty.
func (p *page) optional(before markup, s string, after markup) {
	if s != "" {
		p.with(before, s, after)
	}
}

// counted writes how many more there are, if there are any.
func (p *page) counted(before markup, n int, after markup) {
	if n > 0 {
		p.with(before, strconv.Itoa(n), after)
	}
}

// table writes a table that scrolls by itself, with the given titles. A title that begins
// with # is that of numbers. label is the ID of its heading, "" for a table within a finding.
func (p *page) table(label string, titles []string, rows func()) {
	if label == "" {
		p.raw(`<div class="wide"><table>`)
	} else {
		p.with(`<div class="wide" role="region" aria-labelledby="`, label, `" tabindex="0"><table>`)
	}
	p.raw("\n<thead><tr>")
	for _, t := range titles {
		if number := t[0] == '#'; number {
			p.with(`<th scope="col" class="n">`, t[1:], "</th>")
		} else {
			p.with(`<th scope="col">`, t, "</th>")
		}
	}
	p.raw("</tr></thead>\n<tbody>\n")
	rows()
	p.raw("</tbody></table></div>\n")
}

// cells write the cells of a row after its first one.
func (p *page) cells(texts ...string) {
	for _, s := range texts {
		p.with("<td>", s, "</td>")
	}
}

func (p *page) numbers(list ...int) {
	for _, n := range list {
		p.with(`<td class="n">`, strconv.Itoa(n), "</td>")
	}
}

// section begins a section with a heading.
func (p *page) section(id, title string) {
	p.with(`<section id="`, id, `" aria-labelledby="`)
	p.with("", id, "-title\">\n<h2 id=\"")
	p.with("", id, "-title\">")
	p.text(title)
	p.raw("</h2>\n")
}

// write writes the whole page.
func (v *view) write(p *page) {
	p.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	p.with(`<meta http-equiv="Content-Security-Policy" content="`, policy(), "\">\n")
	p.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
`)
	p.with("<title>", v.Cluster, ": ")
	p.text(strconv.Itoa(v.Open) + " open, " + strconv.Itoa(v.Unknown) + " unknown")
	p.raw("</title>\n<style>" + markup(style) + "</style>\n</head>\n<body>\n")
	v.writeHeader(p)
	p.raw("<main>\n")
	v.writeUnknown(p)
	v.writeFindings(p)
	v.writeOwners(p)
	v.writeChecked(p)
	v.writeAdvisories(p)
	p.raw("</main>\n<script>" + markup(script) + "</script>\n</body>\n</html>\n")
}

func (v *view) writeHeader(p *page) {
	p.raw("<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n<header>\n")
	p.with("<h1>", v.Cluster, "</h1>\n")
	p.with(`<p>Swept <time datetime="`, v.StartedAt, `">`)
	p.with("", v.Started, "</time>.\n")
	if v.Complete {
		p.raw("The sweep is complete: everything was read and every rule ran.")
	} else {
		p.raw(`<strong class="incomplete">The sweep is incomplete: findings may be missing from this page.</strong>`)
	}
	p.optional(" Limited to ", v.Scope, ".")
	p.raw("</p>\n<dl class=\"numbers\">\n")
	for _, n := range []struct {
		name  string
		class markup
		n     int
		shown bool
	}{{"open findings", "bad", v.Open, true}, {"unknown", "doubt", v.Unknown, true}, {"clean namespaces", "", v.Clean, true}, {"pending", "", v.Pending, v.Pending > 0}} {
		if !n.shown {
			continue
		}
		class := n.class
		if n.n == 0 {
			class = ""
		}
		p.with("<div><dt>", n.name, "</dt><dd class=\""+class+"\">")
		p.with("", strconv.Itoa(n.n), "</dd></div>\n")
	}
	p.raw("</dl>\n<nav aria-label=\"Sections\"><ul>\n")
	for _, s := range []struct {
		id, title string
		there     bool
	}{
		{"unknown", "Unknown", len(v.Unread) > 0},
		{"findings", "Findings", true},
		{"owners", "Owners", len(v.Owners) > 0},
		{"checked", "What was checked", true},
		{"advisories", "Advisories", len(v.Advisories) > 0},
	} {
		if s.there {
			p.with(`<li><a href="#`, s.id, `">`)
			p.with("", s.title, "</a></li>\n")
		}
	}
	p.raw("</ul></nav>\n</header>\n")
}

func (v *view) writeUnknown(p *page) {
	if len(v.Unread) == 0 {
		return
	}
	p.section("unknown", "Unknown")
	p.raw("<p>The absence of a finding means nothing for these.</p>\n")
	p.table("unknown-title", []string{"What", "Why"}, func() {
		for _, u := range v.Unread {
			p.with(`<tr><th scope="row">`, u.Where, "</th>")
			p.cells(u.Reason)
			p.raw("</tr>\n")
		}
	})
	p.counted("<p>and ", v.MoreUnread, " more</p>\n")
	p.raw("</section>\n")
}

func (v *view) writeFindings(p *page) {
	p.section("findings", "Findings")
	switch {
	case len(v.Findings) > 0:
		v.writeFilter(p)
		p.raw("<div id=\"rows\">\n")
		for i := range v.Findings {
			v.Findings[i].write(p)
		}
		p.raw("</div>\n")
	case v.Complete:
		p.raw("<p>None.</p>\n")
	default:
		p.raw("<p>None in what could be evaluated.</p>\n")
	}
	p.optional(`<p class="hint">`, v.Hint, "</p>\n")
	p.raw("</section>\n")
}

// writeFilter writes the filter, which the script shows.
func (v *view) writeFilter(p *page) {
	p.raw(`<form id="filter" class="filter" hidden role="search" aria-label="Filter findings">
<label>Text <input id="filter-q" type="search" autocomplete="off"></label>
`)
	for _, s := range []struct {
		title, id string
		choices   []choice
	}{{"Owner", "owner", v.Owners}, {"Severity", "severity", v.Severities}, {"Rule", "rule", v.Rules}} {
		p.with("<label>", s.title, ` <select id="filter-`)
		p.with("", s.id, `"><option value="">all</option>`)
		for _, c := range s.choices {
			p.with(`<option value="`, c.Value, `">`)
			p.with("", c.Value, " (")
			p.with("", strconv.Itoa(c.Count), ")</option>")
		}
		p.raw("</select></label>\n")
	}
	p.raw(`<button type="reset">Clear</button>
<output id="filter-count" for="filter-q filter-owner filter-severity filter-rule"></output>
</form>
`)
}

// write writes one row, which opens to what its findings say.
func (r *row) write(p *page) {
	p.with(`<details class="finding" id="`, r.IDs[0], `" data-text="`)
	p.with("", r.Text, `" data-owners="`)
	p.with("", r.OwnersKey, `" data-severity="`)
	p.with("", r.Severity, `" data-rule="`)
	p.with("", r.Rule, "\">\n<summary><span class=\"severity ")
	p.with("", r.Severity, `">`)
	p.with("", r.Severity, `</span> <span class="subject">`)
	p.with("", r.Subject, `</span> <span class="what">`)
	p.text(r.What)
	p.optional(", ", r.State, "")
	p.with(`</span> <span class="who">`, joinShown(r.Owners), "")
	p.counted(" and ", r.MoreOwners, " more")
	p.raw("</span>")
	if r.Since != "" {
		p.with(` <span class="since">since <time datetime="`, r.SinceAt, `">`)
		p.with("", r.Since, "</time></span>")
	}
	p.raw("</summary>\n")
	for i := range r.Parts {
		r.Parts[i].write(p, i, len(r.Parts))
	}
	p.optional("<h3>Fix</h3><pre tabindex=\"0\" aria-label=\"Fix\">\n", r.Remedy, "</pre>\n")
	p.with(`<p class="id">`, r.Rule, ` · <a href="#`)
	p.with("", r.IDs[0], `">`)
	p.with("", r.IDs[0], "</a></p>\n</details>\n")
}

func (part *part) write(p *page, n, of int) {
	if n == 0 { // the row has its ID
		p.raw("<div class=\"part\">\n")
	} else {
		p.with(`<div class="part" id="`, part.ID, "\">\n")
	}
	if of > 1 {
		p.optional("<h3>", part.Detail, "</h3>\n")
	}
	p.with("<p>", part.Message, "</p>\n")
	p.optional("<p><b>Why:</b> ", part.Cause, "</p>\n")
	p.optional("<p><b>What to do:</b> ", part.Do, "</p>\n")
	if len(part.Objects) > 0 {
		p.table("", []string{"Object", "Owner", "Created", "Role"}, func() {
			for _, o := range part.Objects {
				p.with(`<tr><th scope="row">`, o.Ref, "</th>")
				p.cells(o.Owner, o.Created, o.Detail)
				p.raw("</tr>\n")
			}
		})
		p.counted("<p>and ", part.MoreObjects, " more objects</p>\n")
	}
	p.raw("</div>\n")
}

func (v *view) writeOwners(p *page) {
	if len(v.Owners) == 0 {
		return
	}
	p.section("owners", "Owners")
	p.table("owners-title", []string{"Owner", "#High", "#Medium", "#Low"}, func() {
		for _, o := range v.Owners {
			id := anchor("owner", o.Value)
			p.with(`<tr id="`, id, `"><th scope="row"><a class="pick" data-owner="`)
			p.with("", o.Value, `" href="#`)
			p.with("", id, `">`)
			p.with("", o.Value, "</a></th>")
			p.numbers(o.High, o.Medium, o.Low)
			p.raw("</tr>\n")
		}
	})
	p.raw("</section>\n")
}

func (v *view) writeChecked(p *page) {
	p.section("checked", "What was checked")
	p.raw("<h3 id=\"rules-title\">Rules</h3>\n")
	p.table("rules-title", []string{"Rule", "Status", "#Findings", "Why"}, func() {
		for _, o := range v.Outcomes {
			p.with(`<tr><th scope="row">`, o.Name, "</th>")
			p.status(o.Status, o.Ran)
			p.numbers(o.Findings)
			p.cells(o.Reason)
			p.raw("</tr>\n")
		}
	})
	titles := []string{"Namespace", "Owner", "#Findings"}
	if v.NamespacesWithRows {
		titles = append(titles, "#Workloads", "Ingress denied", "Egress denied", "Opened", "Note")
	}
	p.raw("<h3 id=\"namespaces-title\">Namespaces</h3>\n")
	p.table("namespaces-title", titles, func() {
		for i := range v.Namespaces {
			v.Namespaces[i].write(p, v.NamespacesWithRows)
		}
	})
	p.raw("<h3 id=\"kinds-title\">Kinds</h3>\n")
	p.table("kinds-title", []string{"Kind", "Status", "#Objects", "Why"}, func() {
		for _, k := range v.Kinds {
			p.with(`<tr><th scope="row">`, k.Name, "</th>")
			p.status(k.Status, k.Known)
			p.with(`<td class="n">`, k.Items, "</td>")
			p.cells(k.Reason)
			p.raw("</tr>\n")
		}
	})
	p.raw("</section>\n")
}

// status writes the cell of a status, which stands out if it leaves something unknown.
func (p *page) status(s string, known bool) {
	if known {
		p.cells(s)
	} else {
		p.with(`<td class="doubt">`, s, "</td>")
	}
}

func (n *namespaceRow) write(p *page, isolated bool) {
	p.with(`<tr id="`, anchor("namespace", n.Name), `"><th scope="row">`)
	p.with("", n.Name, `</th><td title="`)
	p.with("", n.DecidedBy, `">`)
	p.with("", n.Owner, "</td>")
	p.numbers(n.Findings)
	switch i := n.Isolation; {
	case isolated && i != nil:
		p.with(`<td class="n">`, i.Workloads, "</td>")
		p.cells(i.Ingress, i.Egress, i.Open, i.Note)
	case isolated:
		p.cells("", "", "", "", "")
	}
	p.raw("</tr>\n")
}

func (v *view) writeAdvisories(p *page) {
	if len(v.Advisories) == 0 {
		return
	}
	p.section("advisories", "Advisories")
	p.raw("<p>Worth knowing; never a finding.</p>\n")
	p.table("advisories-title", []string{"Subject", "What", "Owners", "Rule"}, func() {
		for _, a := range v.Advisories {
			p.with(`<tr><th scope="row">`, a.Subject, "</th>")
			p.cells(a.Message, a.Owners, a.Rule)
			p.raw("</tr>\n")
		}
	})
	p.counted("<p>and ", v.MoreAdvisories, " more</p>\n")
	p.raw("</section>\n")
}
