// Package store keeps findings as custom resources in one namespace of the cluster.
package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube"
)

// Options configure a Store. A zero field means its default.
type Options struct {
	// UserAgent identifies the program in the API server's audit log.
	UserAgent string
	// PageSize is that of kube.Options, in findings.
	PageSize int64
	// Sleep is that of kube.Options.
	Sleep func(context.Context, time.Duration)
}

// Store keeps findings as custom resources in one namespace. It implements
// audit.Store, and may be used by several goroutines at once.
//
// A record is stored, and returned, in the form that Fit gives it.
type Store struct {
	client     *kube.Client
	namespace  string
	definition definition
}

var _ audit.Store = (*Store)(nil)

// New returns a store in a namespace of the cluster that the config points to. It does
// not connect yet. The config is not changed.
func New(cfg *rest.Config, namespace string, opts Options) (*Store, error) {
	if namespace == "" {
		return nil, errors.New("make store: the namespace is empty")
	}
	client, err := kube.NewClient(cfg, kube.Options{UserAgent: opts.UserAgent, PageSize: opts.PageSize, Sleep: opts.Sleep})
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	return &Store{client: client, namespace: namespace}, nil
}

// Usage returns what the store has requested since it was made.
func (s *Store) Usage() kube.Usage { return s.client.Usage() }

// findingsOfPage is how many findings are requested at first. Most take a few kB,
// which is known before one is read.
const findingsOfPage = 1000

// loaded is what a list of findings holds.
type loaded struct {
	records []audit.Stored
	newer   []string // the names of findings that only another program understands
}

// Load implements audit.Store. It reads in pages, as a source reads a kind.
func (s *Store) Load(ctx context.Context) (records []audit.Stored, newer []string, err error) {
	list := kube.List[loaded]{First: findingsOfPage, Request: func(opts metav1.ListOptions) *rest.Request {
		return kube.Paged(s.request(http.MethodGet), opts)
	}, Read: func(body *bufio.Reader, p *kube.Page, l *loaded) error {
		return kube.ReadJSON(body, p, func(item json.RawMessage) error {
			f, err := decode(item)
			switch {
			case err == nil:
				l.records = append(l.records, newStored(f))
			case errors.Is(err, ErrNewer):
				l.newer = append(l.newer, f.Name)
			default:
				return err
			}
			return nil
		})
	}}
	l, _, err := kube.ReadAll(kube.Quiet(ctx), s.client, list)
	if err != nil {
		return nil, nil, fmt.Errorf("list findings: %w", storeError(err))
	}
	slices.SortFunc(l.records, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(l.newer)
	return l.records, l.newer, nil
}

// Get implements audit.Store. The error wraps ErrNewer for a finding that must be
// left alone.
func (s *Store) Get(ctx context.Context, id string) (audit.Stored, error) {
	reply, err := s.send(ctx, http.MethodGet, id, "", nil)
	return stored("get", id, reply, err)
}

// Create implements audit.Store. It takes two requests, since a status can only be
// written to an object that exists. If the process ends between them, or the second
// request fails, a bare record is left. If another publisher writes the status between
// them, the error is ErrStored.
func (s *Store) Create(ctx context.Context, r audit.Record) (audit.Stored, error) {
	r = Fit(r)
	f := newFinding(r)
	f.Labels = labels(r)
	reply, err := s.send(ctx, http.MethodPost, "", "", f)
	// A create that is not found means that the namespace is missing.
	var said *kube.RequestError
	if errors.Is(err, audit.ErrNotStored) && errors.As(err, &said) {
		err = fmt.Errorf("%w: create the namespace, as the chart does: %s", said, kube.Install(s.namespace))
	}
	if err == nil {
		f.ResourceVersion, err = versionOf(reply)
	}
	if err != nil {
		return audit.Stored{}, fmt.Errorf("create finding %s: %w", r.ID, err)
	}
	f.Status = newStatus(r)
	reply, err = s.send(ctx, http.MethodPut, r.ID, "status", f)
	if errors.Is(err, audit.ErrConflict) {
		err = fmt.Errorf("%w: %v", audit.ErrStored, err)
	}
	return s.written("create", f, reply, err)
}

// Update implements audit.Store. It takes one request, or three where labels change.
// Those come first: if the process ends between the two, the record still differs from
// what the sweep found, so that the next sweep writes both.
func (s *Store) Update(ctx context.Context, st audit.Stored) (audit.Stored, error) {
	r := Fit(st.Record)
	version, have, _ := strings.Cut(st.Version, "/")
	if version == "" {
		return audit.Stored{}, fmt.Errorf("update finding %s: the version is empty", r.ID)
	}
	if want := labels(r); have != fingerprint(want) {
		var err error
		if version, err = s.relabel(ctx, r.ID, version, want); err != nil {
			return audit.Stored{}, fmt.Errorf("label finding %s: %w", r.ID, err)
		}
	}
	f := newFinding(r)
	f.ResourceVersion, f.Status = version, newStatus(r)
	reply, err := s.send(ctx, http.MethodPut, r.ID, "status", f)
	return s.written("update", f, reply, err)
}

// written makes a stored record of the response to a write, and compares it with what was
// written.
func (s *Store) written(verb string, sent *v1alpha1.Finding, reply []byte, err error) (audit.Stored, error) {
	var f *v1alpha1.Finding
	if err == nil {
		f, err = decode(reply)
	}
	if err == nil {
		err = s.compare(sent, f)
	}
	if err != nil {
		return audit.Stored{}, fmt.Errorf("%s finding %s: %w", verb, sent.Name, err)
	}
	return newStored(f), nil
}

// relabel labels a finding of the given version, and returns its new version.
func (s *Store) relabel(ctx context.Context, id, version string, want map[string]string) (string, error) {
	reply, err := s.send(ctx, http.MethodGet, id, "", nil)
	if err != nil {
		return "", err
	}
	f, err := decode(reply)
	switch {
	case f != nil && f.ResourceVersion != version:
		return "", audit.ErrConflict
	case err != nil:
		return "", err
	}
	// The other metadata, which decode leaves out, is written back as it is.
	var whole metav1.PartialObjectMetadata
	if err := json.Unmarshal(reply, &whole); err != nil {
		return "", fmt.Errorf("decode metadata: %w", err)
	}
	f.ObjectMeta = whole.ObjectMeta
	f.Labels = relabelled(f.Labels, want)
	if reply, err = s.send(ctx, http.MethodPut, id, "", f); err != nil {
		return "", err
	}
	return versionOf(reply)
}

// Delete implements audit.Store.
func (s *Store) Delete(ctx context.Context, st audit.Stored) error {
	version, _, _ := strings.Cut(st.Version, "/")
	if version == "" {
		return fmt.Errorf("delete finding %s: the version is empty", st.ID)
	}
	options := &metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{ResourceVersion: &version},
	}
	_, err := s.send(ctx, http.MethodDelete, st.ID, "", options)
	if err != nil && !errors.Is(err, audit.ErrNotStored) {
		return fmt.Errorf("delete finding %s: %w", st.ID, err)
	}
	return nil
}

// versionOf returns the resource version of a finding in any form.
func versionOf(reply []byte) (string, error) {
	f, err := decode(reply)
	if f == nil {
		return "", err
	}
	return f.ResourceVersion, nil
}

// stored makes a stored record of the response to a request.
func stored(verb, id string, reply []byte, err error) (audit.Stored, error) {
	var f *v1alpha1.Finding
	if err == nil {
		f, err = decode(reply)
	}
	if err != nil {
		return audit.Stored{}, fmt.Errorf("%s finding %s: %w", verb, id, err)
	}
	return newStored(f), nil
}

func newStored(f *v1alpha1.Finding) audit.Stored {
	r := newRecord(f)
	return audit.Stored{
		Record:     r,
		Version:    f.ResourceVersion + "/" + fingerprint(f.Labels),
		Incomplete: f.Status == nil,
		Stale:      f.Status != nil && !labelled(f.Labels, labels(r)),
	}
}

// request starts a request for the findings of the namespace.
func (s *Store) request(method string) *rest.Request {
	return s.client.REST().Verb(method).
		AbsPath("/apis", v1alpha1.Group, v1alpha1.Version).
		Namespace(s.namespace).Resource(v1alpha1.Resource).
		SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json")
}

// send makes a request for one finding, which need not exist yet, and returns the
// response. A request that may have succeeded although it failed is sent again: each
// either names the version that it applies to, or is exclusive.
func (s *Store) send(ctx context.Context, method, id, part string, body any) (reply []byte, err error) {
	// Without a name it would be a request for all findings, even to delete them.
	if id == "" && method != http.MethodPost {
		return nil, audit.ErrNotStored
	}
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode finding: %w", err)
		}
	}
	err = s.client.Retry(kube.Quiet(ctx), func(ctx context.Context) (err error) {
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
		reply, err = kube.Body(ctx, request)
		return err
	})
	if err != nil {
		return nil, storeError(err)
	}
	return reply, nil
}

// storeError expresses a failed request in the errors of audit.Store.
func storeError(err error) error {
	said := &kube.RequestError{Err: err}
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%w: %w", audit.ErrStored, said)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", audit.ErrConflict, said)
	case kube.NotServed(err):
		// The server's message names a group that the user did not ask for.
		return &notServedError{err}
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", audit.ErrNotStored, said)
	}
	return said
}

// notServedError is a request to a server that does not serve findings.
type notServedError struct{ err error }

func (e *notServedError) Error() string {
	return "the server does not serve " + v1alpha1.Resource + "." + v1alpha1.Group + ": apply its CustomResourceDefinition, as the chart does: " + kube.Install("audit")
}

func (e *notServedError) Unwrap() error { return e.err }
