package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var swept = time.Date(2026, 9, 29, 10, 5, 0, 0, time.UTC)

// cleanResult returns a complete sweep without findings.
func cleanResult() *audit.Result {
	res := &audit.Result{Cluster: "prod-eu-1", Started: swept, Finished: swept.Add(412 * time.Millisecond)}
	for _, r := range []struct {
		kind  snapshot.Kind
		items int
	}{
		{snapshot.Namespaces, 14},
		{snapshot.Pods, 340},
		{snapshot.ReplicationControllers, 0},
		{snapshot.DaemonSets, 6},
		{snapshot.Deployments, 61},
		{snapshot.ReplicaSets, 88},
		{snapshot.StatefulSets, 7},
		{snapshot.CronJobs, 5},
		{snapshot.Jobs, 9},
		{snapshot.IngressClasses, 2},
		{snapshot.Ingresses, 23},
		{snapshot.NetworkPolicies, 31},
	} {
		res.Reads = append(res.Reads, snapshot.Read{Kind: r.kind, Version: "v1", Status: snapshot.Listed, Items: r.items})
	}
	for _, name := range []string{"default-deny-present", "one-owner-per-host", "owner-known"} {
		res.Rules = append(res.Rules, audit.Outcome{Rule: name, Status: audit.RuleRan})
	}
	return res
}

// deliveredResult adds the deliveries of digests to a sweep.
func deliveredResult(res *audit.Result) *audit.Result {
	res.Deliveries = []audit.Delivery{
		{Sender: "events", Result: audit.DeliveryRefused, Reason: "may not create events in namespace shop"},
		{Sender: "slack", Owner: "left", Result: audit.DeliverySent},
		{Sender: "slack", Owner: "night", Result: audit.DeliveryHeld, Reason: "quiet hours"},
		{Sender: "slack", Owner: "right", Result: audit.DeliveryRefused, Reason: "channel_not_found"},
		{Sender: "webhook", Owner: "left\x1b[2J", Result: audit.DeliveryFailed, Reason: "POST https://hooks.example.com: 503 Service Unavailable"},
	}
	res.ReportOnly = &audit.ReportOnly{Findings: 12, Messages: 3}
	res.Messages = []audit.Message{
		{Sender: "slack", Owner: "left", Address: "C0123456789", Text: "1 new finding on prod-eu-1\n  - Host shop.example.com: it is claimed by two\n"},
		{Sender: "webhook", Owner: "night", Held: true, Text: "{\n  \"kind\": \"Digest\x1b\"\n}"},
	}
	return res
}

// brokenResult returns a complete sweep with findings of several rules,
// severities and owners, and advisories.
func brokenResult() *audit.Result {
	res := cleanResult()
	res.Findings = []audit.Finding{missingDeny(), race("shop.example.com"), squatted(), ownerless()}
	for i := range 7 {
		host := fmt.Sprintf("app%d.example.com", i+1)
		res.Advisories = append(res.Advisories, audit.Advisory{
			Rule: "one-owner-per-host", Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
			Owners:  []string{"platform", "team-a"},
			Message: "*.example.com covers " + host,
			Objects: []rules.Object{
				object("networking.k8s.io", "Ingress", "edge", "wildcard", "platform", swept.Add(-900*24*time.Hour), "host of a rule, class nginx"),
				object("networking.k8s.io", "Ingress", "team-a", host, "team-a", swept.Add(-30*24*time.Hour), "host of a rule, class nginx"),
			},
		})
	}
	res.Isolation = []rules.Isolation{
		{Namespace: "kube-system", Workloads: 9, Ingress: rules.Missing, Egress: rules.Missing, Open: "none", Exempt: true},
		{Namespace: "payments", Workloads: 3, Ingress: rules.Present, Egress: rules.Missing, Open: "none", Exposed: []rules.Exposed{
			{Kind: "CronJob", Name: "settle", Direction: "egress", Reason: "no-policy"},
			{Kind: "Deployment", Name: "api", Direction: "egress", Reason: "no-policy"},
		}},
		{Namespace: "search", Workloads: 12, Ingress: rules.Partial, Egress: rules.Present, Open: "ingress", Scope: "cluster"},
	}
	res.Ignored = []audit.IgnoredKind{{Version: "v1", Kind: "ConfigMap", Items: 12}, {Group: "batch.example.com", Version: "v1", Kind: "Run", Items: 1}}
	return res
}

func missingDeny() audit.Finding {
	return finding("default-deny-present", rules.High, audit.Finding{
		Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: "payments", Detail: "Egress"},
		Verdict: "missing", Owners: []string{"payments"}, State: audit.StateOpen, FirstSeen: swept.Add(-75 * time.Hour),
		Message: "No policy denies egress of payments by default: 2 workloads may reach everything.",
		Cause:   "The oldest exposed workload came 2025-11-03 08:12:44, the newest 2026-09-29 02:00:00. Admission control evaluates policies, not their absence.",
		Remedy:  "Add a NetworkPolicy to payments that selects every pod (podSelector: {}) with policyTypes [Egress]. The sweep reads live objects, so applying the workloads again does not help.",
		Objects: []rules.Object{
			object("apps", "Deployment", "payments", "api", "payments", time.Date(2025, 11, 3, 8, 12, 44, 0, time.UTC), "no policy selects its pods"),
			object("batch", "CronJob", "payments", "settle", "payments", time.Date(2026, 9, 29, 2, 0, 0, 0, time.UTC), "no policy selects its pods"),
		},
	})
}

// race is a host that two owners claimed in the same second.
func race(host string) audit.Finding {
	at := time.Date(2026, 9, 29, 9, 58, 1, 0, time.UTC)
	return finding("one-owner-per-host", rules.High, audit.Finding{
		Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
		Verdict: "contested", Owners: []string{"team-a", "team-b"}, State: audit.StateOpen, FirstSeen: swept,
		Message: "Host " + host + " is claimed by 2 owners with 2 objects.",
		Cause: "All claimants were created within the same second: consistent with a race, in which admission " +
			"let each through before it could see the others.",
		Remedy: remedyOfHosts,
		Objects: []rules.Object{
			object("networking.k8s.io", "Ingress", "team-a", "shop", "team-a", at, "host of a rule, class nginx"),
			object("networking.k8s.io", "Ingress", "team-b", "shop", "team-b", at, "server-alias annotation, class nginx"),
		},
	})
}

const remedyOfHosts = "Agree which owner keeps it; the others remove the host from their objects. " +
	"Until then who gets the traffic depends on the controller. This sweep read what is stored now, " +
	"so applying the same object again does not help."

// squatted is a host that a namespace without an owner claimed long after its owner.
func squatted() audit.Finding {
	old := time.Date(2025, 12, 31, 10, 0, 1, 0, time.UTC)
	return finding("one-owner-per-host", rules.High, audit.Finding{
		Subject: rules.Subject{Kind: rules.SubjectHost, Name: "*.apps.example.com"},
		Verdict: "contested", Owners: []string{"platform", "search"}, State: audit.StatePending,
		Message: "Host *.apps.example.com is claimed by 1 owner and 1 namespace without a known owner with 3 objects.",
		Cause: "Ingress edge/wildcard claimed it 271d before Ingress playground/try-out-the-new-frontend: an admission control that " +
			"checks live objects would have rejected the later one, so it was absent, disabled, exempted, bypassed or behind, " +
			"or the host was added by a later edit.",
		Remedy: remedyOfHosts,
		Objects: []rules.Object{
			object("networking.k8s.io", "Ingress", "edge", "wildcard", "search", old, "host of a rule, class nginx"),
			object("networking.k8s.io", "Ingress", "edge", "wildcard-internal", "search", old.Add(time.Hour), "host of a rule, class nginx-internal"),
			object("networking.k8s.io", "Ingress", "playground", "try-out-the-new-frontend", "", swept.Add(-90*time.Second), "host of a rule, class nginx"),
		},
	})
}

func ownerless() audit.Finding {
	return finding("owner-known", rules.Low, audit.Finding{
		Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: "playground"},
		Verdict: "unknown",
		Message: "Nobody is named as owner of playground, which has 1 workload.",
		Remedy:  "Label the Namespace with its owner.",
		Objects: []rules.Object{object("", "Namespace", "", "playground", "", swept.Add(-50*time.Hour), "")},
	})
}

// incompleteResult returns a sweep that could not read policies, some kinds of
// workloads and a document.
func incompleteResult() *audit.Result {
	res := brokenResult()
	for i, r := range res.Reads {
		switch r.Kind {
		case snapshot.NetworkPolicies, snapshot.CronJobs, snapshot.Jobs:
			res.Reads[i].Status, res.Reads[i].Items = snapshot.Forbidden, 0
			res.Reads[i].Err = fmt.Sprintf("%s is forbidden: User %q cannot list resource %q in API group %q at the cluster scope",
				r.Kind, "system:serviceaccount:audit:audit", r.Kind.Resource(), r.Kind.Group())
		case snapshot.ReplicaSets:
			res.Reads[i].Status, res.Reads[i].Items = snapshot.Failed, 0
			res.Reads[i].Err = "list page 3: unexpected EOF\n"
		}
	}
	res.Problems = []audit.Problem{
		{Where: "estate/broken.yaml, document 3", Reason: "yaml: line 4: mapping values are not allowed here\n"},
	}
	res.Rules[0] = audit.Outcome{Rule: "default-deny-present", Status: audit.RuleSkipped, Reason: "cronjobs.batch, jobs.batch, networkpolicies.networking.k8s.io and replicasets.apps were not read"}
	res.Rules[2] = audit.Outcome{Rule: "owner-known", Status: audit.RuleFailed, Reason: "panic: index out of range [3] with length 3"}
	res.Findings = []audit.Finding{race("shop.example.com")}
	res.Isolation, res.Advisories = nil, nil
	return res
}

// forbiddenResult returns a sweep that was not allowed to read anything.
func forbiddenResult() *audit.Result {
	res := cleanResult()
	for i, r := range res.Reads {
		res.Reads[i].Status, res.Reads[i].Items = snapshot.Forbidden, 0
		res.Reads[i].Err = fmt.Sprintf("%s is forbidden: User \"nobody\" cannot list resource %q in API group %q at the cluster scope",
			r.Kind, r.Kind.Resource(), r.Kind.Group())
	}
	for i := range res.Rules {
		res.Rules[i].Status, res.Rules[i].Reason = audit.RuleSkipped, "namespaces was not read"
	}
	return res
}

// noServerResult returns a sweep without a connection to the API server.
func noServerResult() *audit.Result {
	res := forbiddenResult()
	for i := range res.Reads {
		res.Reads[i].Status, res.Reads[i].Err = snapshot.Failed, "dial tcp 10.0.0.1:6443: connect: connection refused"
	}
	return res
}

// hostile returns texts with control, invisible and bidi characters.
func hostile() []string {
	return []string{
		"\x1b[2J\x1b[Hclean: no findings", "a\rb\nc\td\x00", "\u009b31mC1\u0085", "\x7f\x08\x08", "bad\xff\xfeutf8",
		"\u202egnp.exe\u202c", "\u2066a\u2069\u200e\u200f\u061c", "zero\u200b\u200d\ufeffwidth", "line\u2028par\u2029",
		"tag\U000e0041\U000e007f", "private\ue000\U000f0000", "blank\u00a0\u3000\u3164\u2800", "zalgo" + strings.Repeat("\u0301", 9),
		"\u0301first", "variation\ufe0f", "soft\u00adhyphen",
	}
}

// hostileResult returns a result in which every string is hostile.
func hostileResult() *audit.Result {
	res := brokenResult()
	bad := strings.Join(hostile(), " ")
	for _, h := range hostile() {
		f := race(h)
		f.Rule, f.Verdict, f.State, f.Owners = "rule"+h, h, audit.State(h), []string{h, "b" + h}
		f.Subject.Kind, f.Subject.Namespace, f.Subject.Detail = h, h, h
		f.Message, f.Cause, f.Remedy = bad, h, h
		for j := range f.Objects {
			f.Objects[j].Ref = snapshot.Ref{Group: h, Kind: h, Namespace: h, Name: fmt.Sprint(j, h)}
			f.Objects[j].Owner, f.Objects[j].Reason, f.Objects[j].Detail = h, h, h
		}
		res.Findings = append(res.Findings, f)
		res.Advisories = append(res.Advisories, audit.Advisory{Rule: h, Subject: f.Subject, Owners: f.Owners, Message: bad, Objects: f.Objects})
		res.Isolation = append(res.Isolation, rules.Isolation{
			Namespace: h, Ingress: rules.IsolationState(h), Egress: rules.IsolationState(h), Open: h, Scope: h,
			Exposed: []rules.Exposed{{Kind: h, Name: h, Direction: h, Reason: h}},
		})
		res.Ignored = append(res.Ignored, audit.IgnoredKind{Group: h, Version: h, Kind: h})
		res.Problems = append(res.Problems, audit.Problem{Where: h, Reason: bad, Like: h})
		res.Rules = append(res.Rules, audit.Outcome{Rule: h, Status: audit.OutcomeStatus(h), Reason: h})
		res.Reads = append(res.Reads, snapshot.Read{Kind: snapshot.Kind("x." + h), Version: h, Status: snapshot.Status(h), Err: h})
	}
	res.Cluster = bad
	return res
}

// namesResult returns a result with one contested host of the given name and
// claimants with such names.
func namesResult(host, namespace, name, owner string) *audit.Result {
	res := cleanResult()
	f := race(host)
	f.Objects[0].Namespace, f.Objects[0].Name, f.Objects[0].Owner = namespace, name, owner
	f.Objects = append(f.Objects, f.Objects[1])
	f.Objects[1].Namespace, f.Objects[1].Name = "team-c", name
	f.Objects[2].Owner = owner
	f.Owners = []string{owner, "team-b"}
	res.Findings = []audit.Finding{f, missingDeny()}
	return res
}

func finding(rule string, severity rules.Severity, f audit.Finding) audit.Finding {
	f.ID, f.Rule, f.Severity = rules.ID(rule, f.Subject), rule, severity
	return f
}

func object(group, kind, namespace, name, owner string, created time.Time, detail string) rules.Object {
	return rules.Object{
		Ref:   snapshot.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name},
		Owner: owner, Created: created, Reason: "rule", Detail: detail,
	}
}
