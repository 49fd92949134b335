package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// StoreOptions tune a Store. A field that is zero stands for its default.
type StoreOptions struct {
	// UserAgent names the program in the API server's audit log.
	UserAgent string
	// PageSize is that of Options, in findings.
	PageSize int64
	// Sleep waits before a request is tried again, and returns early when the
	// context ends. By default it takes the time it is given.
	Sleep func(context.Context, time.Duration)
}

// Store keeps findings as custom resources in one namespace. It implements
// audit.Store, and may be used by several goroutines at once.
//
// A record is stored as Fit makes it, and returned so.
type Store struct {
	conn      *Source // makes requests with the patience of a source
	namespace string
}

var _ audit.Store = (*Store)(nil)

// NewStore returns a store in a namespace of the cluster that the config leads to.
// It connects to nothing yet. The config is not changed.
func NewStore(cfg *rest.Config, namespace string, opts StoreOptions) (*Store, error) {
	if namespace == "" {
		return nil, errors.New("make store: no namespace is given")
	}
	conn, err := NewSource(cfg, Options{UserAgent: opts.UserAgent, PageSize: opts.PageSize, Sleep: opts.Sleep})
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	return &Store{conn: conn, namespace: namespace}, nil
}

// Get implements audit.Store. The error wraps ErrNewer for a finding that must be
// left alone.
func (s *Store) Get(ctx context.Context, id string) (audit.Stored, error) {
	raw, err := s.send(ctx, http.MethodGet, id, "", nil)
	return reading("get", id, raw, err)
}

// Create implements audit.Store. It takes two requests, since a status is only
// written to what exists; who is ended between them leaves a bare record, and so
// does an error of the second. One whom somebody else forestalls between them gets
// ErrStored.
func (s *Store) Create(ctx context.Context, r audit.Record) (audit.Stored, error) {
	r = Fit(r)
	f := newFinding(r)
	f.Labels = labels(r)
	raw, err := s.send(ctx, http.MethodPost, "", "", f)
	// Where nothing has to be there yet, it is the namespace that is missing.
	var said *requestError
	if errors.Is(err, audit.ErrNotStored) && errors.As(err, &said) {
		err = said
	}
	if err != nil {
		return audit.Stored{}, fmt.Errorf("create finding %s: %w", r.ID, err)
	}
	f.ResourceVersion, f.Status = raw.Metadata.ResourceVersion, newStatus(r)
	raw, err = s.send(ctx, http.MethodPut, r.ID, "status", f)
	if errors.Is(err, audit.ErrConflict) {
		err = fmt.Errorf("%w: %v", audit.ErrStored, err)
	}
	return reading("create", r.ID, raw, err)
}

// Update implements audit.Store. It takes one request, or three where labels
// change. Those come first: who is ended between the two leaves a record that still
// differs from what is judged, so that the next sweep writes both.
func (s *Store) Update(ctx context.Context, st audit.Stored) (audit.Stored, error) {
	r := Fit(st.Record)
	version, have, _ := strings.Cut(st.Version, "/")
	if version == "" {
		return audit.Stored{}, fmt.Errorf("update finding %s: no version is given", r.ID)
	}
	if want := labels(r); have != fingerprint(want) {
		var err error
		if version, err = s.relabel(ctx, r.ID, version, want); err != nil {
			return audit.Stored{}, fmt.Errorf("label finding %s: %w", r.ID, err)
		}
	}
	f := newFinding(r)
	f.ResourceVersion, f.Status = version, newStatus(r)
	raw, err := s.send(ctx, http.MethodPut, r.ID, "status", f)
	return reading("update", r.ID, raw, err)
}

// relabel labels a finding of the given version, and returns its new version.
func (s *Store) relabel(ctx context.Context, id, version string, want map[string]string) (string, error) {
	raw, err := s.send(ctx, http.MethodGet, id, "", nil)
	if err != nil {
		return "", err
	}
	if raw.Metadata.ResourceVersion != version {
		return "", audit.ErrConflict
	}
	f, err := readFinding(raw)
	if err != nil {
		return "", err
	}
	f.Labels = relabelled(f.Labels, want)
	if raw, err = s.send(ctx, http.MethodPut, id, "", f); err != nil {
		return "", err
	}
	return raw.Metadata.ResourceVersion, nil
}

// Delete implements audit.Store.
func (s *Store) Delete(ctx context.Context, st audit.Stored) error {
	version, _, _ := strings.Cut(st.Version, "/")
	if version == "" {
		return fmt.Errorf("delete finding %s: no version is given", st.ID)
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

// reading makes a stored record of the answer to a request.
func reading(verb, id string, raw *rawFinding, err error) (audit.Stored, error) {
	var f *v1alpha1.Finding
	if err == nil {
		f, err = readFinding(raw)
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
