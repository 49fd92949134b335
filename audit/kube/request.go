package kube

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// get begins a request for objects of a kind as JSON.
func get(client rest.Interface, kind snapshot.Kind, version string) *rest.Request {
	path := []string{"/apis", kind.Group(), version}
	if kind.Group() == "" {
		path = []string{"/api", version}
	}
	return client.Get().AbsPath(path...).SetHeader("Accept", "application/json")
}

// answer makes a request and returns the body of the answer.
func answer(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	// Unlike Raw, Error reads what the server says of an error: the reason of a
	// refusal, and that a list has expired.
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}
