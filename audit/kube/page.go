package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// list says how a kind is listed, page by page.
type list struct {
	// request makes the request for a page.
	request func(metav1.ListOptions) *rest.Request
	// read reads the answer to one and adds the facts of its objects to those there
	// are. After an error none of what it added counts.
	read func(*bufio.Reader, *page) error
	// first is how many objects are asked for at first, where the options do not say
	// it; zero stands for firstLimit.
	first int64
}

// page is one page of a list while it is read.
type page struct {
	opts  metav1.ListOptions // with which it was asked for
	facts *snapshot.Facts
	items int
	next  string // the token of the next page, empty after the last

	scratch *bytes.Buffer
	headed  func(bytes int64) // called once it is known where the next page begins
}

// errNoList is an answer that decodes and yet is none of an API server's.
var errNoList = errors.New("the answer is no list: it has no resource version")

// head takes what the metadata of the list say, and of how many bytes about the page
// is. Those that read a page call it once, as early as they can.
func (p *page) head(version, next string, bytes int64) error {
	// An empty object decodes as an empty list. Taken for one, it would say that the
	// cluster has no such objects.
	if version == "" {
		return errNoList
	}
	p.next = next
	p.headed(bytes)
	return nil
}

// whole reads an answer to its end. The bytes hold until the next page is read.
func (p *page) whole(body *bufio.Reader) ([]byte, error) {
	p.scratch.Reset()
	if _, err := p.scratch.ReadFrom(body); err != nil {
		return nil, brokeOff(err)
	}
	return p.scratch.Bytes(), nil
}

func brokeOff(err error) error { return fmt.Errorf("the answer broke off: %w", err) }

// objectError is an object that is stored and yet makes no sense. Asking again
// does not help.
type objectError struct{ err error }

func (e *objectError) Error() string { return e.err.Error() }

func (e *objectError) Unwrap() error { return e.err }

// refused returns the error that an answer in JSON says, if it is no list.
func refused(decoded any) error {
	if status, ok := decoded.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		return apierrors.FromObject(status)
	}
	return nil
}
