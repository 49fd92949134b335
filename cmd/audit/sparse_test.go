package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// contested are two Ingresses that claim one host, with something between them: a
// sweep that evaluates the rest of an input that it could not read has one finding.
func contested(between ...io.Reader) io.Reader {
	const ingress = "\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\n" +
		"metadata: {name: web, namespace: %s}\nspec: {ingressClassName: nginx, rules: [{host: www.example.com}]}\n---\n"
	readers := append([]io.Reader{strings.NewReader(fmt.Sprintf(ingress, "shop"))}, between...)
	return io.MultiReader(append(readers, strings.NewReader(fmt.Sprintf(ingress, "blog")))...)
}

// typedObjects are the kinds that every API server serves, as objects name them.
func typedObjects() map[snapshot.Kind]string {
	return map[snapshot.Kind]string{
		snapshot.Namespaces: "v1 Namespace", snapshot.Pods: "v1 Pod", snapshot.ReplicationControllers: "v1 ReplicationController",
		snapshot.DaemonSets: "apps/v1 DaemonSet", snapshot.Deployments: "apps/v1 Deployment", snapshot.ReplicaSets: "apps/v1 ReplicaSet",
		snapshot.StatefulSets: "apps/v1 StatefulSet", snapshot.CronJobs: "batch/v1 CronJob", snapshot.Jobs: "batch/v1 Job",
		snapshot.IngressClasses: "networking.k8s.io/v1 IngressClass", snapshot.Ingresses: "networking.k8s.io/v1 Ingress",
		snapshot.NetworkPolicies:    "networking.k8s.io/v1 NetworkPolicy",
		snapshot.ValidatingWebhooks: "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
		snapshot.ValidatingPolicies: "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
		snapshot.ValidatingBindings: "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
	}
}

// everyObject returns the type of the objects of every kind that a sweep reads, in
// each version that it can read.
func everyObject(t *testing.T) []string {
	t.Helper()
	typed := typedObjects()
	custom := map[snapshot.Kind][]string{}
	of := func(kind snapshot.Kind, versions []string, object string) {
		for _, v := range versions {
			custom[kind] = append(custom[kind], strings.TrimPrefix(kind.Group()+"/"+v, "/")+" "+object)
		}
	}
	kinds := audit.Needs(catalog.All())
	for _, c := range ingest.Customs() {
		of(c.Kind, c.Versions, c.Object)
	}
	for _, s := range hostsource.BuiltIn() {
		of(s.Kind, s.Versions, s.Object)
		kinds = append(kinds, s.Kind)
	}
	var all []string
	for _, kind := range kinds {
		if object := typed[kind]; object != "" {
			all = append(all, object)
		} else if len(custom[kind]) == 0 && kind != snapshot.HostSources {
			t.Errorf("the apiVersion and kind of %s are missing in this test", kind)
		}
		all = append(all, custom[kind]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestSparseObjectsAreHarmless sweeps objects of every kind that have nothing but a
// name, an empty spec, or null for one. API servers reject most of them, but dumps and
// custom resources without a schema have them. Each is read, none counts as a claim to a
// host or as more of a policy than it is, and the objects beside them are evaluated.
func TestSparseObjectsAreHarmless(t *testing.T) {
	var b strings.Builder
	for _, object := range everyObject(t) {
		apiVersion, kind, _ := strings.Cut(object, " ")
		for i, rest := range []string{"", "spec: {}\n", "spec: null\nstatus: null\n"} {
			fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata: {name: sparse-%s-%d, labels: null}\n%s", apiVersion, kind, strings.ReplaceAll(apiVersion, "/", "-"), i, rest)
		}
	}
	var out, errs bytes.Buffer
	code := run(command{
		args: []string{"--once", "--from", "-", "-o", "json"}, in: contested(strings.NewReader(b.String())), out: &out, err: &errs,
		getenv: func(string) string { return "" }, now: func() time.Time { return today },
	})
	if errs.Len() > 0 || code != exitFindings {
		t.Fatalf("exit %d: %s\n%s", code, errs.Bytes(), out.Bytes())
	}
	r := decode(t, out.String())
	var hosts []string
	for _, f := range r.Findings {
		if f.Rule == "one-owner-per-host" {
			hosts = append(hosts, f.Subject.Name)
		}
	}
	if diff := cmp.Diff([]string{"www.example.com"}, hosts); diff != "" || !r.Complete || len(r.Problems) > 0 {
		t.Errorf("complete: %t, problems: %v, hosts (-want +got):\n%s", r.Complete, r.Problems, diff)
	}
	// A NetworkPolicy, and a policy of Calico's, that says nothing selects every pod
	// and denies ingress. None denies egress.
	for _, row := range r.Isolation {
		if row.Egress != "missing" {
			t.Errorf("egress of namespace %s: %+v", row.Namespace, row)
		}
	}
}
