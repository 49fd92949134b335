package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// fetch asks for one page.
type fetch func(ctx context.Context, opts metav1.ListOptions) (page, error)

// page is one page of a list, of which it is only known where the next begins.
type page struct {
	items int
	next  string // the token of the next page, empty after the last
	// take adds the facts of the page's objects. It is called once, or not at all.
	take func(into *snapshot.Facts) error
}

// errNoList is an answer that decodes and yet is none of an API server's.
var errNoList = errors.New("the answer is no list: it has no resource version")

// objectError is an object that is stored and yet makes no sense. Asking again
// does not help.
type objectError struct{ err error }

func (e *objectError) Error() string { return e.err.Error() }

func (e *objectError) Unwrap() error { return e.err }

// stream makes a request and reads the body of the answer into a buffer.
func stream(ctx context.Context, request *rest.Request, into *bytes.Buffer) error {
	into.Reset()
	body, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close() // it was read, or is of no use
	if _, err := into.ReadFrom(body); err != nil {
		return fmt.Errorf("the answer broke off: %w", err)
	}
	return nil
}

// refused returns the error that an answer in JSON says, if it is no list.
func refused(decoded any) error {
	if status, ok := decoded.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		return apierrors.FromObject(status)
	}
	return nil
}
