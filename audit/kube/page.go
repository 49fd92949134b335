package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

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
	// kind is that of the list, such as "PodList"; empty where it is not known.
	kind string
}

// page is one page of a list while it is read.
type page struct {
	opts  metav1.ListOptions // with which it was asked for
	kind  string             // that of its list, empty where it is not known
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

// begin reads an answer to its end, or as many bytes of it as given. They hold until
// the next page is read.
func (p *page) begin(body *bufio.Reader, most int64) (text []byte, whole bool, err error) {
	p.scratch.Reset()
	_, err = io.CopyN(p.scratch, body, most)
	switch {
	case errors.Is(err, io.EOF):
		return p.scratch.Bytes(), true, nil
	case err != nil:
		return nil, false, brokeOff(err)
	}
	return p.scratch.Bytes(), false, nil
}

// isList returns an error for the kind of an answer that is not the list wanted.
func isList(kind, wanted string) error {
	switch {
	case kind == "":
	case !strings.HasSuffix(kind, "List"):
		return fmt.Errorf("the answer is a %q and no list", kind)
	case wanted != "" && kind != wanted:
		return fmt.Errorf("the answer is a %q and no %q", kind, wanted)
	}
	return nil
}

func brokeOff(err error) error { return fmt.Errorf("the answer broke off: %w", err) }

// objectError is an object that is stored and yet makes no sense. Asking again
// does not help.
type objectError struct{ err error }

func (e *objectError) Error() string { return e.err.Error() }

func (e *objectError) Unwrap() error { return e.err }
