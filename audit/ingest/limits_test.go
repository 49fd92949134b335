package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/ingest/budget"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// bigIngress returns an Ingress with a number of hosts.
func bigIngress(namespace string, i, hosts int) *networkingv1.Ingress {
	o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("big-%d", i)}}
	for h := range hosts {
		o.Spec.Rules = append(o.Spec.Rules, networkingv1.IngressRule{Host: fmt.Sprintf("h%d-%d.example.com", i, h)})
	}
	return o
}

func TestLimits(t *testing.T) {
	in := ingest.New(nil).Limit(budget.Limits{HostsPerObject: 10, HostsPerNamespace: 25})
	var f snapshot.Facts
	add := func(o *networkingv1.Ingress) error {
		return in.Add(&f, func() error {
			f.Ingresses = append(f.Ingresses, in.Ingress(o))
			return nil
		})
	}
	for i, c := range []struct {
		namespace string
		hosts     int
		want      string
	}{
		{"a", 10, ""},
		{"a", 11, "it has 11 hosts, more than the limit of 10 (limits.hostsPerObject)"},
		{"a", 10, ""},
		{"a", 6, "more than the limit of 25 hosts (limits.hostsPerNamespace)"},
		{"a", 5, ""}, // what was refused cost nothing
		{"a", 1, "more than the limit of 25 hosts (limits.hostsPerNamespace)"},
		{"a", 0, ""},
		{"b", 10, ""},
	} {
		before := len(f.Ingresses)
		err := add(bigIngress(c.namespace, i, c.hosts))
		if got := fmt.Sprint(err); err == nil != (c.want == "") || !strings.Contains(got, c.want) && c.want != "" {
			t.Errorf("case %d: got %v, want %q", i, err, c.want)
		}
		if kept := len(f.Ingresses) - before; kept != 1 && err == nil || kept != 0 && err != nil {
			t.Errorf("case %d: %d facts with %v", i, kept, err)
		}
	}
}

// Pods that share their labels cost as much as one.
func TestLimitOfLabels(t *testing.T) {
	in := ingest.New(nil).Limit(budget.Limits{LabelsPerObject: 5, LabelsPerNamespace: 12})
	var f snapshot.Facts
	add := func(set, labels int) error {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Labels: map[string]string{}}}
		for i := range labels {
			o.Labels[fmt.Sprintf("l%d-%d", set, i)] = "x"
		}
		return in.Add(&f, func() error {
			f.Pods = append(f.Pods, in.Pod(o))
			return nil
		})
	}
	for i, c := range []struct {
		set, labels int
		refused     bool
	}{{1, 5, false}, {1, 5, false}, {2, 6, true}, {2, 6, true}, {2, 5, false}, {3, 5, true}, {3, 5, true}, {3, 2, false}} {
		if err := add(c.set, c.labels); (err != nil) != c.refused {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

func TestLimitOfTerms(t *testing.T) {
	var custom ingest.Custom
	for _, c := range ingest.Customs() {
		if c.Kind == snapshot.CalicoNetworkPolicies {
			custom = c
		}
	}
	in := ingest.New(nil).Limit(budget.Limits{TermsPerObject: 100})
	var f snapshot.Facts
	nets := strings.TrimSuffix(strings.Repeat(`"10.0.0.0/8",`, 200), ",")
	err := custom.Take(in, []byte(`{"metadata":{"name":"many","namespace":"a"},"spec":{"types":["Ingress"],"ingress":[{"action":"Allow","source":{"nets":[`+nets+`]}}]}}`), &f)
	if err != nil || len(f.Policies) > 0 || len(f.Faults) != 1 {
		t.Fatalf("%d policies, faults %+v, %v", len(f.Policies), f.Faults, err)
	}
	fault := f.Faults[0]
	if fault.String() != "NetworkPolicy a/many" || !strings.Contains(fault.Reason, "limits.termsPerObject") || fault.Spares != [2]bool{false, true} {
		t.Errorf("fault %+v", fault)
	}
}
