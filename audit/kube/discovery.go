package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Served is what an API server says it serves, except for the core group.
type Served struct {
	Kinds  map[snapshot.Kind]ServedKind
	Groups map[string]bool
	// Stale are the groups whose own server the API server can't reach at the
	// moment: what they serve is unknown.
	Stale map[string]bool
}

// ServedKind is a kind as it is served.
type ServedKind struct {
	Kind       snapshot.Kind
	Object     string   // the kind of its objects
	Versions   []string // the version that the server prefers comes first
	Namespaced bool
}

// acceptDiscovery asks for all groups with all their resources in one response. The
// older form has the same fields; before Kubernetes 1.30 there is no other.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

var (
	// errOldDiscovery is a server without aggregated discovery.
	errOldDiscovery = errors.New("the server only says group by group what it serves: " +
		"it is older than Kubernetes 1.27, or its aggregated discovery is off")
	// errNothingServed is a response that an API server would not send.
	errNothingServed = errors.New("the server says that it serves nothing at all: is it a Kubernetes API server?")
)

// Discover asks which kinds are served, with one request for all groups except the
// core group.
func (c *Client) Discover(ctx context.Context) (Served, error) {
	var list discoveryv2.APIGroupDiscoveryList
	err := c.Retry(ctx, func(ctx context.Context) error {
		body, err := Body(ctx, c.REST().Get().AbsPath("/apis").SetHeader("Accept", acceptDiscovery))
		if err != nil {
			return err
		}
		list = discoveryv2.APIGroupDiscoveryList{}
		return json.Unmarshal(body, &list)
	})
	switch {
	case apierrors.IsNotFound(err):
		return Served{}, errNoDiscovery
	case err != nil:
		return Served{}, fmt.Errorf("discover what the server serves: %w", err)
	case list.Kind != "APIGroupDiscoveryList":
		return Served{}, errOldDiscovery
	// If this were believed, every custom kind would be absent.
	case len(list.Items) == 0:
		return Served{}, errNothingServed
	}
	return newServed(&list), nil
}

func newServed(list *discoveryv2.APIGroupDiscoveryList) Served {
	s := Served{Kinds: map[snapshot.Kind]ServedKind{}, Groups: map[string]bool{}, Stale: map[string]bool{}}
	for _, group := range list.Items {
		s.Groups[group.Name] = true
		for _, version := range group.Versions {
			if version.Freshness == discoveryv2.DiscoveryFreshnessStale {
				s.Stale[group.Name] = true
			}
			for _, r := range version.Resources {
				s.add(group.Name, version.Version, r)
			}
		}
	}
	return s
}

func (s *Served) add(group, version string, r discoveryv2.APIResourceDiscovery) {
	if r.ResponseKind == nil || !slices.Contains(r.Verbs, "list") {
		return
	}
	kind := snapshot.KindOf(group, r.Resource)
	k := s.Kinds[kind]
	k.Kind, k.Object, k.Namespaced = kind, r.ResponseKind.Kind, r.Scope == discoveryv2.ScopeNamespace
	k.Versions = append(k.Versions, version)
	s.Kinds[kind] = k
}

// Serves asks whether the API server serves a kind in a version. It fails if the
// server shows no sign of being an API server.
func (c *Client) Serves(ctx context.Context, kind snapshot.Kind, version string) (served bool, err error) {
	err = c.Retry(ctx, func(ctx context.Context) (err error) {
		served, err = c.serves(ctx, kind, version)
		return err
	})
	return served, err
}

func (c *Client) serves(ctx context.Context, kind snapshot.Kind, version string) (bool, error) {
	client := discovery.ToServerResourcesInterfaceWithContext(c.clientset.Discovery())
	core, err := client.ServerResourcesForGroupVersionWithContext(ctx, "v1")
	if err != nil {
		return false, fmt.Errorf("discover what the server serves: %w", err)
	}
	if !lists(core, snapshot.Namespaces) {
		return false, errNoDiscovery
	}
	group, err := client.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: kind.Group(), Version: version}.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discover what the server serves: %w", err)
	}
	return lists(group, kind), nil
}

func lists(served *metav1.APIResourceList, kind snapshot.Kind) bool {
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource() })
}
