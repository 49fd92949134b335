package drill

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// Users of the API server, one per replica, so that the audit log distinguishes them.
const (
	swift = "swift"
	slow  = "slow"
)

// auditLogFile is the name of the audit log in the cluster's folder.
const auditLogFile = "audit.log"

var control = &kubetest.Shared{Options: kubetest.Options{
	Users: []string{swift, slow},
	// Absolute, because the server runs in another folder than the test.
	APIServerFlags: []string{"--audit-policy-file", absolute(filepath.Join("testdata", "policy.yaml")), "--audit-log-path", auditLogFile},
}}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

// home is the namespace that publish.yaml creates for findings, and the name of the
// Lease.
const home = "audit"

// site is an installation on a cluster: a namespace with findings and a Lease.
type site struct {
	*kubetest.Cluster
	namespace string
}

// published returns a cluster with the CRD of findings, on which each of the users has
// only the rights in the charts folder.
func published(t *testing.T, users ...string) site {
	t.Helper()
	c := site{control.Cluster(t), home}
	root := filepath.Join("..", "..")
	if err := c.InstallCRDs(t.Context(), filepath.Join(root, "audit", "api", "v1alpha1")); err != nil {
		t.Fatal(err)
	}
	served := time.Now()
	kubectl(t, c, "apply", "-f", filepath.Join(root, "charts", "read-only.yaml"), "-f", filepath.Join(root, "charts", "publish.yaml"))
	for _, user := range users {
		kubectl(t, c, "create", "clusterrolebinding", "reads-"+user, "--clusterrole=audit-read-only", "--user="+user)
		kubectl(t, c, "create", "rolebinding", "publishes-"+user, "-n", home, "--role=audit-publish", "--user="+user)
	}
	for _, user := range users {
		await(t, "the rights of "+user, func() bool {
			return allowed(t, c, user, "networking.k8s.io", "ingresses", "", "list") &&
				allowed(t, c, user, "eventuallytrue.dev", "findings", home, "create")
		})
	}
	// The API server delays creations of a new kind for this long, and a publisher
	// would only renew its lease in the meantime.
	time.Sleep(time.Until(served.Add(2100 * time.Millisecond)))
	return c
}

// addSites adds n more installations to the cluster, with the same rights for a user.
func (c site) addSites(t *testing.T, user string, n int) []site {
	t.Helper()
	chart, err := os.ReadFile(filepath.Join("..", "..", "charts", "publish.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	var sites []site
	for i := range n {
		s := site{c.Cluster, fmt.Sprintf("%s-%d", home, i)}
		own := strings.ReplaceAll(string(chart), "namespace: "+home+"\n", "namespace: "+s.namespace+"\n")
		own = strings.Replace(own, "kind: Namespace\nmetadata:\n  name: "+home, "kind: Namespace\nmetadata:\n  name: "+s.namespace, 1)
		all, sites = append(all, own, fmt.Sprintf(bindingForm, s.namespace, user)), append(sites, s)
	}
	file := filepath.Join(t.TempDir(), "sites.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(all, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "apply", "-f", file)
	for _, s := range sites {
		await(t, "the rights of "+user, func() bool { return allowed(t, c, user, "eventuallytrue.dev", "findings", s.namespace, "create") })
	}
	return sites
}

const bindingForm = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: audit-publish, namespace: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: audit-publish}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`

func allowed(t *testing.T, c site, user, group, resource, namespace, verb string) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Resource: resource, Namespace: namespace, Verb: verb},
	}}
	review, err := clientset(t, c, user).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func kubectl(t *testing.T, c site, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func clientset(t *testing.T, c site, user string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config(user))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// freeLease clears the Lease, as if it had expired, and returns its former holder.
func freeLease(t *testing.T, c site) string {
	t.Helper()
	holder, err := c.FreeLease(t.Context(), c.namespace, home)
	if err != nil {
		t.Fatal(err)
	}
	return holder
}

// claims are the hosts that teams claim, by the team's namespace.
type claims map[string][]string

// hosts returns the names of the hosts from number from up to, but not including, to.
func hosts(from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("host-%04d.example.com", i))
	}
	return names
}

// applyClaims sets the claims of the given teams, and for each team a host that no
// other team claims. Other teams keep their claims.
func applyClaims(t *testing.T, c site, all claims) {
	t.Helper()
	client := clientset(t, c, kubetest.Admin)
	for team, names := range all {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team, Labels: map[string]string{"team": team}}}
		_, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		ingresses := client.NetworkingV1().Ingresses(team)
		web := kubetest.Ingress("web", "public", append([]string{team + ".example.com"}, names...)...)
		if _, err = ingresses.Update(t.Context(), web, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
			_, err = ingresses.Create(t.Context(), web, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func findingsOf(t *testing.T, c site) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config(kubetest.Admin))
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.Resource)).Namespace(c.namespace)
}

// stored returns the stored findings, sorted by name, and the version of the list.
func stored(t *testing.T, c site) (findings []v1alpha1.Finding, version string) {
	t.Helper()
	list, err := findingsOf(t, c).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		findings = append(findings, decode(t, &list.Items[i]))
	}
	slices.SortFunc(findings, func(a, b v1alpha1.Finding) int { return strings.Compare(a.Name, b.Name) })
	return findings, list.GetResourceVersion()
}

func decode(t *testing.T, u *unstructured.Unstructured) v1alpha1.Finding {
	t.Helper()
	var f v1alpha1.Finding
	data, err := u.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// restore replaces the stored findings with the given ones.
func restore(t *testing.T, c site, findings []v1alpha1.Finding) {
	t.Helper()
	client := findingsOf(t, c)
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		f.ObjectMeta = metav1.ObjectMeta{Name: f.Name, Labels: f.Labels}
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		made, err := client.Create(t.Context(), u.DeepCopy(), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		u.SetResourceVersion(made.GetResourceVersion())
		if _, err := client.UpdateStatus(t.Context(), u, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutTimes returns findings without what may differ between two runs: the times,
// and the timestamps of messages. It only keeps whether they are set.
func withoutTimes(findings []v1alpha1.Finding) []v1alpha1.Finding {
	happened := metav1.Unix(0, 0)
	out := slices.Clone(findings)
	for i := range out {
		f := out[i].DeepCopy()
		f.ObjectMeta = metav1.ObjectMeta{Name: f.Name, Labels: f.Labels}
		if f.Status != nil {
			times := []**metav1.Time{&f.Status.FirstSeen, &f.Status.OpenedAt, &f.Status.ResolvedAt}
			for n := range f.Status.Notifications {
				sent := &f.Status.Notifications[n]
				times = append(times, &sent.At, &sent.ClaimedAt)
				if sent.Message != "" {
					sent.Message = "one"
				}
			}
			for _, when := range times {
				if !(*when).IsZero() {
					*when = &happened
				}
			}
		}
		out[i] = *f
	}
	return out
}

// versions returns the resourceVersion of each finding, by name.
func versions(findings []v1alpha1.Finding) map[string]string {
	out := map[string]string{}
	for _, f := range findings {
		out[f.Name] = f.ResourceVersion
	}
	return out
}

// expectNothingPending fails the test if a notification is pending or claimed.
func expectNothingPending(t *testing.T, findings []v1alpha1.Finding) {
	t.Helper()
	for _, f := range findings {
		for _, m := range f.Status.Notifications {
			if m.Pending != "" || m.ClaimedBy != "" {
				t.Errorf("%s: notification of %s (%s) is pending, claimed by %q", f.Spec.Subject.Name, m.Owner, m.Pending, m.ClaimedBy)
			}
		}
	}
}
