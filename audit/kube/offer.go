package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// offer is what an API server says it serves, of the kinds that come as custom
// resources.
type offer struct {
	served map[snapshot.Kind]servedKind
	groups map[string]bool
	// stale are the groups that the server knows of and cannot ask just now:
	// what they serve is unknown.
	stale map[string]bool
	// unmodelled are policies for pod traffic that nothing here understands.
	unmodelled []servedKind
}

// servedKind is a kind as it is served.
type servedKind struct {
	kind       snapshot.Kind
	object     string   // the kind of its objects
	versions   []string // the server's favourite first
	namespaced bool
}

// acceptDiscovery asks for all groups with all their resources in one answer. The
// older form has the same fields; before Kubernetes 1.30 there is no other.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// errOldDiscovery is a server that has no aggregated discovery.
var errOldDiscovery = errors.New("the server tells what it serves group by group only: " +
	"it is older than Kubernetes 1.27, or its aggregated discovery is off")

// errNothingServed is an answer that no API server gives.
var errNothingServed = errors.New("the server says that it serves nothing at all: is it a Kubernetes API server?")

// ask asks what is served: one request for all groups but the core group.
func (s *Source) ask(ctx context.Context) (offer, error) {
	var list discoveryv2.APIGroupDiscoveryList
	err := s.retry(ctx, func(ctx context.Context) error {
		request := s.client.Discovery().RESTClient().Get().AbsPath("/apis").SetHeader("Accept", acceptDiscovery)
		body, err := answer(ctx, request)
		if err != nil {
			return err
		}
		list = discoveryv2.APIGroupDiscoveryList{}
		return json.Unmarshal(body, &list)
	})
	switch {
	case apierrors.IsNotFound(err):
		return offer{}, errNoDiscovery
	case err != nil:
		return offer{}, fmt.Errorf("ask what the server serves: %w", err)
	case list.Kind != "APIGroupDiscoveryList":
		return offer{}, errOldDiscovery
	// Taken for the truth, it would say that no custom kind is there.
	case len(list.Items) == 0:
		return offer{}, errNothingServed
	}
	return newOffer(&list), nil
}

func newOffer(list *discoveryv2.APIGroupDiscoveryList) offer {
	o := offer{served: map[snapshot.Kind]servedKind{}, groups: map[string]bool{}, stale: map[string]bool{}}
	for _, group := range list.Items {
		o.groups[group.Name] = true
		for _, version := range group.Versions {
			if version.Freshness == discoveryv2.DiscoveryFreshnessStale {
				o.stale[group.Name] = true
			}
			for _, r := range version.Resources {
				o.add(group.Name, version.Version, r)
			}
		}
	}
	for _, k := range o.served {
		if ingest.UnsupportedPolicy(k.kind.Group(), k.object) {
			o.unmodelled = append(o.unmodelled, k)
		}
	}
	slices.SortFunc(o.unmodelled, func(a, b servedKind) int { return compareKinds(a.kind, b.kind) })
	return o
}

func (o *offer) add(group, version string, r discoveryv2.APIResourceDiscovery) {
	if r.ResponseKind == nil || !slices.Contains(r.Verbs, "list") {
		return
	}
	kind := snapshot.KindOf(group, r.Resource)
	k := o.served[kind]
	k.kind, k.object, k.namespaced = kind, r.ResponseKind.Kind, r.Scope == discoveryv2.ScopeNamespace
	k.versions = append(k.versions, version)
	o.served[kind] = k
}

// version returns the version in which a kind is read, and what to say of a kind
// that is not to be read at all.
func (o *offer) version(c *ingest.Custom) (version string, instead snapshot.Read) {
	served, ok := o.served[c.Kind]
	switch {
	// Nobody there is whose objects they are.
	case c.With != "" && !o.groups[c.With]:
		return "", snapshot.Read{Kind: c.Kind, Version: c.Versions[0], Status: snapshot.Absent}
	// The core group is not in the answer, and whatever it has is there.
	case c.Kind.Group() == "":
		return c.Versions[0], snapshot.Read{}
	case o.stale[c.Kind.Group()]:
		return "", snapshot.Read{Kind: c.Kind, Status: snapshot.Failed, Err: "the server cannot reach what serves this group"}
	case !ok:
		return "", snapshot.Read{Kind: c.Kind, Version: c.Versions[0], Status: snapshot.Absent}
	}
	for _, v := range c.Versions {
		if slices.Contains(served.versions, v) {
			return v, snapshot.Read{}
		}
	}
	return "", snapshot.Read{
		Kind: c.Kind, Status: snapshot.Failed,
		Err: fmt.Sprintf("served in versions %v only, of which none is known here", served.versions),
	}
}
