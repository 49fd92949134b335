package drill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// home is the namespace that publish.yaml makes for findings, and the name of the
// Lease in it, in whatever namespace.
const home = "audit"

// site is an installation on a cluster: a namespace with findings and a Lease.
type site struct {
	*kubetest.Cluster
	namespace string
}

// published returns a cluster that serves findings, on which each of the users has
// the rights of the charts and no others.
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
			return may(t, c, user, "networking.k8s.io", "ingresses", "", "list") &&
				may(t, c, user, "eventuallytrue.dev", "findings", home, "create")
		})
	}
	// For so long the API server lets every creation of a new kind wait, and a
	// publisher would do nothing meanwhile but to renew its lease.
	time.Sleep(time.Until(served.Add(2100 * time.Millisecond)))
	return c
}

// beside returns some more installations on the cluster, with the same rights for a
// user.
func (c site) beside(t *testing.T, user string, n int) []site {
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
		await(t, "the rights of "+user, func() bool { return may(t, c, user, "eventuallytrue.dev", "findings", s.namespace, "create") })
	}
	return sites
}

const bindingForm = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: audit-publish, namespace: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: audit-publish}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`

func may(t *testing.T, c site, user, group, resource, namespace, verb string) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Resource: resource, Namespace: namespace, Verb: verb},
	}}
	review, err := typed(t, c, user).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
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

func typed(t *testing.T, c site, user string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config(user))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// freeLease takes the lease from whoever has it, as if its time had run out, and
// returns who that was.
func freeLease(t *testing.T, c site) string {
	t.Helper()
	leases := typed(t, c, kubetest.Admin).CoordinationV1().Leases(c.namespace)
	lease, err := leases.Get(t.Context(), home, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	lease.Spec = coordinationv1.LeaseSpec{}
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return holder
}
