package kube

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// resource says how one kind is read.
type resource struct {
	kind    snapshot.Kind
	version string
	// everywhere is true of a kind that every API server serves: whoever
	// answers 404 for it is none.
	everywhere bool
	// open returns the fetch of one read; the ingester is for it alone.
	open func(kubernetes.Interface, *ingest.Ingester) fetch
}

// fetch lists one page, adds its facts, and returns the number of its objects
// and the token of the next page, empty after the last. It adds nothing where
// it fails.
type fetch func(ctx context.Context, opts metav1.ListOptions, into *snapshot.Facts) (items int, next string, err error)

// errNoList is an answer that decodes and yet is none of an API server's.
var errNoList = errors.New("the answer is no list: it has no resource version")

// typed makes a fetch of a typed client's List: items opens the list, fact
// turns an object into a fact and place says where among the facts it goes.
func typed[L metav1.ListInterface, O, F any](
	list func(context.Context, metav1.ListOptions) (L, error),
	items func(L) []O,
	fact func(*O) F,
	place func(*snapshot.Facts) *[]F,
) fetch {
	return func(ctx context.Context, opts metav1.ListOptions, into *snapshot.Facts) (int, string, error) {
		page, err := list(ctx, opts)
		if err != nil {
			return 0, "", err
		}
		// An empty JSON object decodes as an empty list. Taken for one, it
		// would say that the cluster has no such objects.
		if page.GetResourceVersion() == "" {
			return 0, "", errNoList
		}
		objects, facts := items(page), place(into)
		for i := range objects {
			*facts = append(*facts, fact(&objects[i]))
		}
		return len(objects), page.GetContinue(), nil
	}
}
