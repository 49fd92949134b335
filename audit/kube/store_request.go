package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// request begins a request for the findings of the namespace.
func (s *Store) request(method string) *rest.Request {
	return s.conn.client.Discovery().RESTClient().Verb(method).
		AbsPath("/apis", v1alpha1.Group, v1alpha1.Version).
		Namespace(s.namespace).Resource(v1alpha1.Resource).
		SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json")
}

// send makes a request of one finding, or of one to be, and returns what the server says it is now. A
// request that may have been carried out although it failed is made again all the
// same: each either names the version it is for, or is exclusive.
func (s *Store) send(ctx context.Context, method, id, part string, body any) (*rawFinding, error) {
	// Without a name it would be a request of all findings, a deletion too.
	if id == "" && method != http.MethodPost {
		return nil, audit.ErrNotStored
	}
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode finding: %w", err)
		}
	}
	// The client logs what it also returns as an error.
	ctx = klog.NewContext(ctx, klog.Logger{})
	var reply []byte
	err := s.conn.retry(ctx, func(ctx context.Context) (err error) {
		request := s.request(method)
		if id != "" {
			request = request.Name(id)
		}
		if part != "" {
			request = request.SubResource(part)
		}
		if data != nil {
			request = request.Body(data)
		}
		reply, err = answer(ctx, request)
		return err
	})
	if err != nil {
		return nil, refusal(err)
	}
	var raw rawFinding
	if err := json.Unmarshal(reply, &raw); err != nil {
		return nil, fmt.Errorf("decode finding: %w", err)
	}
	return &raw, nil
}

// refusal says in the terms of the store why a request failed.
func refusal(err error) error {
	said := &requestError{err}
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%w: %w", audit.ErrStored, said)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", audit.ErrConflict, said)
	case unserved(err):
		// The server's own words name a group that nobody asked for.
		return &unservedError{err}
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", audit.ErrNotStored, said)
	}
	return said
}

// unserved tells the 404 of a kind that is not served from that of an object that
// is not there: the one is not in the words of an API server's storage.
func unserved(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusNotFound {
		return false
	}
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// requestError is a failed request in words for people.
type requestError struct{ err error }

func (e *requestError) Error() string { return reason(e.err) }

func (e *requestError) Unwrap() error { return e.err }

// unservedError is a failed request for a kind that the server does not serve.
type unservedError struct{ err error }

func (e *unservedError) Error() string {
	return "the server does not serve " + v1alpha1.Resource + "." + v1alpha1.Group + ": apply its CustomResourceDefinition"
}

func (e *unservedError) Unwrap() error { return e.err }
