package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// phrase is what a line says about its findings, without their subject.
type phrase struct {
	what  string
	brief string // where there is little room; "" for what
	like  string // of any number of like findings
	class string // of findings that are alike in the main point
}

// phraseOf puts the findings on one subject into a few words. The message of a finding
// says more.
func phraseOf(records []audit.Record) phrase {
	first := &records[0]
	switch {
	case isDirection(first):
		return isolationPhrase(records)
	case first.Subject.Kind == rules.SubjectHost:
		return hostPhrase(first)
	case first.Verdict == "unowned":
		n := workloads(records)
		if n == 0 {
			return alikeAs("no known owner")
		}
		p := alikeAs("no known owner")
		p.what += ", " + rules.Count(n, "workload")
		p.brief = p.like
		return p
	case first.Verdict == "not-evaluated":
		p := alikeAs("can't be evaluated")
		if _, reason, ok := strings.Cut(first.Message, "can't be evaluated: "); ok {
			reason, _, _ = strings.Cut(reason, ". What it claims")
			p.what, p.brief = p.like+": "+reason, p.like
		}
		return p
	case first.Verdict == "blind":
		return alikeAs("looks up kinds that are not replicated")
	}
	what, _, _ := strings.Cut(first.Message, ". ")
	what = strings.TrimSuffix(what, ".")
	for _, name := range []string{first.Subject.Kind + " " + first.Subject.String(), first.Subject.Kind + " " + first.Subject.Name} {
		what = strings.TrimPrefix(strings.TrimPrefix(what, name+" "), name+": ")
	}
	like := strings.TrimSpace(first.Rule + ": " + first.Verdict)
	return phrase{what: what, brief: like, like: like, class: like}
}

// alikeAs is a phrase that is the same for all like findings.
func alikeAs(text string) phrase { return phrase{what: text, like: text, class: text} }

func hostPhrase(r *audit.Record) phrase {
	n := len(r.Owners) + r.MoreOwners
	suffix := ""
	if r.Verdict != "" && r.Verdict != "contested" {
		suffix = " (" + r.Verdict + ")"
	}
	if n < 2 {
		return alikeAs("claimed by several objects" + suffix)
	}
	what := fmt.Sprintf("claimed by %d owners%s", n, suffix)
	return phrase{what: what, brief: fmt.Sprintf("claimed by %d", n), like: what, class: "claimed by several owners" + suffix}
}

// isolationPhrase is about one or both directions of a namespace.
func isolationPhrase(records []audit.Record) phrase {
	directions := func(verdict string) string {
		var out []string
		for i := range records {
			if records[i].Verdict == verdict {
				out = append(out, strings.ToLower(records[i].Subject.Detail))
			}
		}
		slices.Sort(out)
		slices.Reverse(out) // ingress first
		return strings.Join(out, ", ")
	}
	var p phrase
	add := func(what, brief, like, class string) {
		for _, part := range []struct {
			to   *string
			text string
		}{{&p.what, what}, {&p.brief, brief}, {&p.like, like}, {&p.class, class}} {
			if *part.to != "" {
				*part.to += "; "
			}
			*part.to += part.text
		}
	}
	if d := directions("missing"); d != "" {
		text := "no default-deny (" + d + ")"
		open := ""
		if n := workloads(records); n > 0 {
			open = fmt.Sprintf(", %d open", n)
		}
		add(text+open, "no deny: "+brief(d), text, "no default-deny")
	}
	if d := directions("partial"); d != "" {
		text := "denied within the cluster only (" + d + ")"
		add(text, "part deny: "+brief(d), text, "denied within the cluster only")
	}
	var openings []opening
	for i := range records {
		if records[i].Verdict == "defeated" {
			openings = append(openings, openingOf(&records[i]))
		}
	}
	if len(openings) == 2 && openings[0].by == openings[1].by && openings[0].to == openings[1].to {
		openings = openings[:1]
		openings[0].direction = "ingress and egress"
	}
	for _, o := range openings {
		add(o.String(), brief(o.direction)+" open", o.alike(), "default-deny undone")
	}
	if p.what == "" {
		return alikeAs(records[0].Verdict)
	}
	return p
}

// opening is what undoes a default-deny.
type opening struct {
	direction, by, to string
	several           bool
}

func (o opening) String() string {
	switch {
	case o.by == "":
		return o.direction + " is open: policies are not enforced"
	case o.several:
		return o.by + " open " + o.direction + " to " + o.to
	}
	return o.by + " opens " + o.direction + " to " + o.to
}

// alike is what any number of such openings have in common.
func (o opening) alike() string {
	if o.by == "" {
		return o.String()
	}
	return o.direction + " open to " + o.to
}

// brief shortens the names of both directions.
func brief(directions string) string {
	if strings.Contains(directions, " ") {
		return "both"
	}
	return directions
}

func openingOf(r *audit.Record) opening {
	o := opening{direction: strings.ToLower(r.Subject.Detail), to: "everyone"}
	reasons := map[string]bool{}
	n := 0
	for _, object := range r.Objects {
		if isWorkload(object.Kind) {
			continue
		}
		if n++; n == 1 {
			o.by = object.Name
		}
		reasons[object.Reason] = true
	}
	if n > 1 {
		o.by, o.several = fmt.Sprintf("%s and %d more", o.by, n-1), true
	}
	switch {
	case reasons["allow-all"]:
	case reasons["allow-tcp"]:
		o.to = "everyone by TCP"
	case reasons["allow-world"]:
		o.to = "the internet"
	case reasons["allow-cluster"]:
		o.to = "the whole cluster"
	}
	return o
}

func isWorkload(kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod":
		return true
	}
	return false
}

// workloads counts the workloads of findings, each once.
func workloads(records []audit.Record) int {
	seen, more := map[rules.Object]bool{}, 0
	for i := range records {
		for _, o := range records[i].Objects {
			if isWorkload(o.Kind) {
				seen[rules.Object{Ref: o.Ref}] = true
			}
		}
		more = max(more, records[i].MoreObjects)
	}
	return len(seen) + more
}

// since returns when a finding was first seen or, if this sweep is the first to see it,
// the earliest time at which it can have begun by the creation of its objects: a contest
// when the second owner claimed the host, an opening when both a policy and a workload
// existed, and anything else with its oldest object. It is zero if unknown.
func since(r *audit.Record, now time.Time) time.Time {
	if !r.FirstSeen.IsZero() && r.FirstSeen.Before(now) {
		return r.FirstSeen
	}
	first := map[string]time.Time{} // the oldest object of each party
	for _, o := range r.Objects {
		if o.Created.IsZero() || o.Created.After(now) {
			continue
		}
		party := ""
		switch {
		case r.Subject.Kind == rules.SubjectHost && o.Owner != "":
			party = "owner " + o.Owner
		case r.Subject.Kind == rules.SubjectHost:
			party = "namespace " + o.Namespace
		case r.Verdict == "defeated":
			party = fmt.Sprint(isWorkload(o.Kind))
		}
		if t, ok := first[party]; !ok || o.Created.Before(t) {
			first[party] = o.Created
		}
	}
	var times []time.Time
	for _, t := range first {
		times = append(times, t)
	}
	slices.SortFunc(times, time.Time.Compare)
	switch len(times) {
	case 0:
		return time.Time{}
	case 1:
		return times[0]
	}
	return times[1]
}
