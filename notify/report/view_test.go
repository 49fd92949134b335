package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// noDeny returns the findings on a namespace without default-deny.
func noDeny(namespace, owner string, directions ...string) []audit.Finding {
	var out []audit.Finding
	for _, d := range directions {
		f := missingDeny()
		f.Subject.Name, f.Subject.Detail, f.Owners = namespace, d, []string{owner}
		for i := range f.Objects {
			f.Objects[i].Namespace = namespace
		}
		out = append(out, finding(f.Rule, f.Severity, f))
	}
	return out
}

// spread returns namespaces without default-deny: of each team so many.
func spread(teams, each int) []audit.Finding {
	var out []audit.Finding
	for t := range teams {
		for n := range each {
			out = append(out, noDeny(fmt.Sprintf("t%03d-app-%03d", t, n), fmt.Sprintf("team-%03d", t), "Egress", "Ingress")...)
		}
	}
	return out
}

// squats returns hosts that the given namespaces took.
func squats(namespaces ...string) []audit.Finding {
	var out []audit.Finding
	for i, ns := range namespaces {
		f := race(fmt.Sprintf("h%d", i))
		f.Culprit = ns
		out = append(out, f)
	}
	return out
}

// decoys returns hosts that one namespace took, two of each owner, and one that another
// took.
func decoys(n int) []audit.Finding {
	var out []audit.Finding
	for i := range n {
		f := squats("squat")[0]
		f.Subject.Name, f.Owners = fmt.Sprintf("h%d", i), []string{"squatter", fmt.Sprintf("team-%d", i/2)}
		out = append(out, f)
	}
	f := squats("other")[0]
	f.Subject.Name, f.Owners = "real", []string{"squatter", "team-0"}
	return append(out, f)
}

// lines returns what a view has of each line.
func lines(v *View) []string {
	var out []string
	for _, g := range v.Groups {
		for _, l := range g.Lines {
			text := fmt.Sprintf("%s | %s | %s", l.Subject, l.What, l.Owners)
			if g.Name != "" {
				text = g.Name + " | " + text
			}
			out = append(out, text)
		}
	}
	return out
}

func TestViewFolds(t *testing.T) {
	const both = "no default-deny (ingress, egress), 2 open"
	ownerless := func(n int) []audit.Finding {
		var out []audit.Finding
		for i := range n {
			name := fmt.Sprintf("%c", 'a'+i)
			f := ownerless()
			f.Subject.Name, f.Verdict, f.Owners = name, "unowned", []string{"namespace " + name}
			out = append(out, finding(f.Rule, f.Severity, f))
		}
		return out
	}
	for _, row := range []struct {
		name string
		list []audit.Finding
		s    Selection
		most int
		want []string
	}{
		{
			"both directions are one line", noDeny("shop", "a", "Egress", "Ingress"),
			Selection{},
			50,
			[]string{"shop | " + both + " | a"},
		},
		{"a few like lines stay", spread(1, 3), Selection{}, 50, []string{
			"t000-app-000 | " + both + " | team-000", "t000-app-001 | " + both + " | team-000", "t000-app-002 | " + both + " | team-000",
		}},
		{
			"more of the same owners are one", spread(1, 4),
			Selection{},
			50,
			[]string{"4 namespaces t000-app-* | no default-deny (ingress, egress) | team-000"},
		},
		{"unless all are asked for", spread(1, 4)[:2], Selection{All: true}, 1, []string{"t000-app-000 | " + both + " | team-000"}},
		{
			"namespaces without an owner are alike", ownerless(4),
			Selection{},
			50,
			[]string{"4 namespaces | no known owner: a, b, c, d | no owner"},
		},
		{
			"of many, some are named", ownerless(12),
			Selection{},
			50,
			[]string{"12 namespaces | no known owner: a, b, c, 9 more | no owner"},
		},
		{"unlike directions are not alike", append(spread(1, 4), noDeny("shop", "team-000", "Ingress")...), Selection{}, 50, []string{
			"shop | no default-deny (ingress), 2 open | team-000",
			"4 namespaces t000-app-* | no default-deny (ingress, egress) | team-000",
		}},
		{
			"owners fold if there are too many lines, but not the only line of an owner",
			append(spread(9, 5), noDeny("shop", "solo", "Egress")...),
			Selection{},
			5,
			[]string{
				"shop | no default-deny (egress), 2 open | solo",
				"45 namespaces | no default-deny (ingress, egress): t000-app-000, t000-app-001, t000-app-002, 42 more | 9 owners (team-000 10, team-001 10, team-002 10, …)",
			},
		},
		{"the only lines of very many owners fold with each other", slices.Concat(spread(9, 1), noDeny("x", "busy", "Egress"), noDeny("y", "busy", "Egress")), Selection{}, 5, []string{
			"9 namespaces | no default-deny (ingress, egress): t000-app-000, t001-app-000, t002-app-000, 6 more | 9 owners (team-000 2, team-001 2, team-002 2, …)",
			"x | no default-deny (egress), 2 open | busy", "y | no default-deny (egress), 2 open | busy",
		}},
		{
			"what is selected", append(noDeny("shop", "a", "Egress", "Ingress"), ownerless(1)...),
			Selection{Severity: rules.High},
			50,
			[]string{"shop | " + both + " | a"},
		},
		{
			"hosts that one namespace took", squats("squat", "squat", "squat", "squat"),
			Selection{},
			50,
			[]string{"4 hosts | claimed by 2 owners, last by namespace squat: h0, h1, h2, h3 | team-a, team-b"},
		},
		{"not with those that another one took", squats("a", "a", "b", "b"), Selection{}, 50, []string{
			"h0 | claimed by 2 owners | team-a, team-b", "h1 | claimed by 2 owners | team-a, team-b",
			"h2 | claimed by 2 owners | team-a, team-b", "h3 | claimed by 2 owners | team-a, team-b",
		}},
		{"the decoys of one namespace fold before those of others", decoys(8), Selection{}, 5, []string{
			"8 hosts | claimed by 2 owners, last by namespace squat: h0, h1, h2, 5 more | 5 owners (squatter 8, team-0 2, team-1 2, …)",
			"real | claimed by 2 owners | squatter, team-0",
		}},
		{"a finding of two owners is in both groups", []audit.Finding{race("h.example.com")}, Selection{GroupBy: "owner"}, 50, []string{
			"team-a | h.example.com | claimed by 2 owners | team-a, team-b", "team-b | h.example.com | claimed by 2 owners | team-a, team-b",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := NewView(records(row.list), swept, row.s, row.most)
			got := lines(v)
			slices.Sort(got)
			slices.Sort(row.want)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			n := 0
			for _, g := range v.Groups {
				for _, l := range g.Lines {
					n += len(l.Findings)
				}
			}
			if row.s.GroupBy == "" && n != v.Shown {
				t.Errorf("the lines have %d findings of %d", n, v.Shown)
			}
		})
	}
}

// A report must fit a screen, however many namespaces are broken and whoever owns them.
func TestWriteFitsAScreen(t *testing.T) {
	ownerless := spread(1000, 1)
	for i := range ownerless {
		ownerless[i].Owners = []string{"namespace " + ownerless[i].Subject.Name}
	}
	hosts := spread(50, 20)
	for i := range 200 {
		f := race(fmt.Sprintf("h%d.example.com", i))
		f.Owners = []string{fmt.Sprintf("team-%03d", i%50), fmt.Sprintf("team-%03d", (i+i/50+1)%50)}
		hosts = append(hosts, finding(f.Rule, f.Severity, f))
	}
	for name, list := range map[string][]audit.Finding{
		"one team": spread(1, 1000), "many teams": spread(100, 10), "an owner for each": spread(1000, 1),
		"no owners": ownerless, "hosts, too": hosts,
	} {
		for _, width := range []int{72, 80, 160} {
			res := brokenResult()
			res.Findings = list
			out := write(t, Table, res, Options{Width: width})
			fits(t, out, width)
			if n := strings.Count(out, "\n"); n > 60 {
				t.Errorf("%s, %d columns: %d lines:\n%s", name, width, n, out)
			}
			if !strings.Contains(out, "namespaces") || !strings.Contains(out, fmt.Sprintf("SUMMARY  %s findings", number(len(list)))) {
				t.Errorf("%s, %d columns:\n%s", name, width, out)
			}
		}
	}
}

// Two findings with similar hashes still have different short IDs.
func TestShortIDsAreUnique(t *testing.T) {
	list := records([]audit.Finding{{ID: "r-aaaaaaaa11111111"}, {ID: "r-aaaaaaaa12222222"}, {ID: "s-bbbbbbbbbbbbbbbb"}})
	if n := shortest(list); n != 10 {
		t.Errorf("%d letters", n)
	}
	if n := shortest(list[1:]); n != 7 {
		t.Errorf("%d letters", n)
	}
}

func TestMatch(t *testing.T) {
	list := records(append(noDeny("shop", "a", "Egress", "Ingress"), race("shop.example.com")))
	for name, want := range map[string]int{
		list[0].ID: 1, list[0].ID[:len(list[0].ID)-6]: 1, shortID(list[2].ID, 5): 1,
		"shop": 2, "shop (Egress)": 1, "Namespace shop": 2, "namespace/shop": 2, "host/shop.example.com": 1,
		"default-deny-present": 2, "": 0, "sho": 0, "Host shop": 0,
	} {
		if got := Match(list, name); len(got) != want {
			t.Errorf("%q matches %d findings, want %d", name, len(got), want)
		}
	}
}

// What no one looks for anymore is not shown as resolved, and comes last.
func TestWriteFindingsStates(t *testing.T) {
	list := records([]audit.Finding{race("a.example.com"), race("b.example.com"), race("c.example.com"), race("d.example.com"), ownerless()})
	for i, reason := range []audit.Reason{audit.ReasonExcepted, audit.ReasonRuleRetired, audit.ReasonResolved} {
		list[i].State, list[i].Reason, list[i].ResolvedAt = audit.StateResolved, reason, swept
	}
	list[4].State = audit.StateOpen
	list[3].Notifications = []audit.Notification{{Sender: "slack", Owner: "team-a", Last: "opened", At: swept, Message: audit.MessageRef{Channel: "C0\x1b"}}}
	var b strings.Builder
	if err := WriteFindings(&b, Table, list, swept.Add(time.Hour), Options{}); err != nil {
		t.Fatal(err)
	}
	var states []string
	for line := range strings.Lines(b.String()) {
		if fields := strings.Fields(line); len(fields) > 4 && (fields[0] == "high" || fields[0] == "low") {
			states = append(states, fields[len(fields)-3])
		}
	}
	if want := []string{"open", "open", "excepted", "retired", "resolved"}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v in\n%s", states, want, b.String())
	}
	for _, row := range []struct {
		state string
		want  int
	}{{"resolved", 3}, {"Excepted", 1}, {"OPEN", 2}} {
		s, err := ParseSelection(Selection{States: []string{row.state}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := Select(list, s); len(got) != row.want {
			t.Errorf("%s: %d findings, want %d", row.state, len(got), row.want)
		}
	}
	b.Reset()
	if err := WriteFindings(&b, Wide, list, swept.Add(time.Hour), Options{}); err != nil {
		t.Fatal(err)
	}
	harmless(t, b.String())
	for _, want := range []string{"    sent  opened to team-a by slack, ", ` in C0\x1b`, "    ended ", ", excepted\n", ": contested, retired\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
