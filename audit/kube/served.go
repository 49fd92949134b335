package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// errNoDiscovery is whatever answers 404 and is not an API server.
var errNoDiscovery = errors.New("the server does not say what it serves: is it a Kubernetes API server?")

// served asks the discovery of the API server whether it serves a kind. It
// fails where the server shows no sign of being one.
func (s *Source) served(ctx context.Context, res resource) (bool, error) {
	client := discovery.ToServerResourcesInterfaceWithContext(s.client.Discovery())
	core, err := client.ServerResourcesForGroupVersionWithContext(ctx, "v1")
	if err != nil {
		return false, fmt.Errorf("ask what the server serves: %w", err)
	}
	if !lists(core, snapshot.Namespaces) {
		return false, errNoDiscovery
	}
	version := schema.GroupVersion{Group: res.kind.Group(), Version: res.version}.String()
	group, err := client.ServerResourcesForGroupVersionWithContext(ctx, version)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask what the server serves: %w", err)
	}
	return lists(group, res.kind), nil
}

func lists(served *metav1.APIResourceList, kind snapshot.Kind) bool {
	for _, r := range served.APIResources {
		if r.Name == kind.Resource() {
			return true
		}
	}
	return false
}
