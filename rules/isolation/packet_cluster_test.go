package isolation_test

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// packetCluster is a small cluster as an API server would hand it out. It holds
// typed objects, so that what turns them into facts is judged with the rule.
type packetCluster []runtime.Object

// snapshot reads the cluster as every source does.
func (c packetCluster) snapshot() *snapshot.Snapshot {
	in := ingest.New(nil)
	var f snapshot.Facts
	for _, o := range c {
		switch o := o.(type) {
		case *corev1.Namespace:
			f.Namespaces = append(f.Namespaces, in.Namespace(o))
		case *corev1.Pod:
			f.Pods = append(f.Pods, in.Pod(o))
		case *networkingv1.NetworkPolicy:
			f.Policies = append(f.Policies, in.NetworkPolicy(o))
		case *appsv1.Deployment:
			f.Workloads = append(f.Workloads, in.Deployment(o))
		case *appsv1.ReplicaSet:
			f.Workloads = append(f.Workloads, in.ReplicaSet(o))
		case *appsv1.StatefulSet:
			f.Workloads = append(f.Workloads, in.StatefulSet(o))
		case *appsv1.DaemonSet:
			f.Workloads = append(f.Workloads, in.DaemonSet(o))
		case *batchv1.Job:
			f.Workloads = append(f.Workloads, in.Job(o))
		case *batchv1.CronJob:
			f.Workloads = append(f.Workloads, in.CronJob(o))
		default:
			panic(fmt.Sprintf("no fact of %T", o))
		}
	}
	var b snapshot.Builder
	b.Add(f)
	return b.Freeze()
}

// isolationWords returns what default-deny-present says of a snapshot, in sorted
// lines like those of a fixture's header.
func isolationWords(snap *snapshot.Snapshot) ([]string, error) {
	rule := isolation.Rule()
	directions := snapshot.Directions()
	res, err := rule.Run(rules.Input{
		View:       snap.View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner:      func(m *snapshot.Meta) rules.Owner { return rules.Owner{Namespace: m.Namespace} },
		Directions: directions[:],
		Exempt:     func(string) bool { return false },
	})
	lines := []string{}
	for _, row := range res.Isolation {
		lines = append(lines, isolationWord(row))
		for _, e := range row.Exposed {
			lines = append(lines, exposedWord(row.Namespace, e))
		}
	}
	for _, v := range res.Violations {
		lines = append(lines, findingWord(v.Subject.Name, v.Subject.Detail, v.Verdict))
	}
	slices.Sort(lines)
	return lines, err
}

func isolationWord(row rules.Isolation) string {
	line := fmt.Sprintf("# isolation: ns=%s ingress=%s egress=%s open=%s", row.Namespace, row.Ingress, row.Egress, row.Open)
	if row.Scope != "" {
		line += " scope=" + row.Scope
	}
	return fmt.Sprintf("%s of %d", line, row.Workloads)
}

func exposedWord(namespace string, e rules.Exposed) string {
	return fmt.Sprintf("# exposed: %s %s/%s %s %s", namespace, e.Kind, e.Name, e.Direction, e.Reason)
}

func findingWord(namespace, direction, verdict string) string {
	return fmt.Sprintf("# finding: %s (%s) is %s", namespace, direction, verdict)
}

// String returns the manifests of the cluster, ready to become a fixture.
func (c packetCluster) String() string {
	var out strings.Builder
	for _, o := range c {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			panic(err)
		}
		// What typed objects print though nobody wrote it.
		unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(fields, "spec", "template", "metadata", "creationTimestamp")
		if status, ok := fields["status"].(map[string]any); ok && status["phase"] == nil && status["conditions"] == nil {
			delete(fields, "status")
		}
		text, err := yaml.Marshal(fields)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.String()
}
