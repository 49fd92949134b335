package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube"
)

// definition is what is known of the CustomResourceDefinition in the cluster. The API
// server drops fields that the definition lacks without an error, so a finding that was
// written may say less than it should.
type definition struct {
	mu      sync.Mutex
	missing map[string]bool // paths of fields that the definition lacks
}

// essential are the fields of a notification without which an owner would be notified
// again in each sweep, or never.
var essential = []string{"", ".sender", ".owner", ".pending", ".claimedBy", ".claimedAt", ".last", ".at"}

// Missing implements audit.Definer: it returns the fields that the definition in the
// cluster lacks, as far as is known, sorted. It asks the API server for the schema, which
// every authenticated user may read. Where that fails, what was dropped from earlier
// writes is known.
func (s *Store) Missing(ctx context.Context) []string {
	if served, err := s.servedFields(ctx); err == nil {
		missing := map[string]bool{}
		for path := range fieldsOf(reflect.TypeFor[v1alpha1.FindingStatus](), "status") {
			if !served[path] && served[parent(path)] {
				missing[path] = true
			}
		}
		s.definition.mu.Lock()
		s.definition.missing = missing
		s.definition.mu.Unlock()
	}
	return s.Dropped()
}

// Dropped implements audit.Definer: it returns the fields that the definition in the
// cluster lacks, as far as is known without another request, sorted.
func (s *Store) Dropped() []string {
	s.definition.mu.Lock()
	defer s.definition.mu.Unlock()
	return slices.Sorted(maps.Keys(s.definition.missing))
}

// CanNotify implements audit.Definer.
func (s *Store) CanNotify() bool {
	return !slices.ContainsFunc(s.Dropped(), isEssential)
}

func isEssential(path string) bool {
	rest, ok := strings.CutPrefix(path, "status.notifications")
	return ok && slices.Contains(essential, strings.TrimPrefix(rest, "[]")) || path == "status" || strings.HasPrefix(path, "spec")
}

// Fit is FitFinding, without the fields that the definition in the cluster lacks: what a
// sweep finds would differ from what is stored, and be written, in every sweep.
func (s *Store) Fit(f audit.Finding) audit.Finding {
	f = FitFinding(f)
	missing := s.Dropped()
	if len(missing) == 0 {
		return f
	}
	data, err := json.Marshal(newStatus(audit.Record{Finding: f}))
	if err != nil {
		return f
	}
	var tree map[string]any
	if json.Unmarshal(data, &tree) != nil {
		return f
	}
	for _, path := range missing {
		prune(tree, strings.Split(strings.TrimPrefix(path, "status."), "."))
	}
	var status v1alpha1.FindingStatus
	if data, err = json.Marshal(tree); err != nil || json.Unmarshal(data, &status) != nil {
		return f
	}
	kept := newRecord(&v1alpha1.Finding{Spec: newFinding(audit.Record{Finding: f}).Spec, Status: &status}).Finding
	kept.ID, kept.Subject, kept.Ranks, kept.State = f.ID, f.Subject, f.Ranks, f.State
	if len(f.Owners) > v1alpha1.MaxOwners && len(kept.Owners) > 0 {
		kept.Owners = f.Owners
	}
	return kept
}

// prune removes a field from a document. A path goes through the items of lists.
func prune(tree map[string]any, path []string) {
	name, isList := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		delete(tree, name)
		return
	}
	switch child := tree[name].(type) {
	case []any:
		for _, item := range child {
			if m, ok := item.(map[string]any); ok && isList {
				prune(m, path[1:])
			}
		}
	case map[string]any:
		prune(child, path[1:])
	}
}

// compare remembers what the API server dropped from a finding that was written. The
// error says that something essential was dropped.
func (s *Store) compare(sent, got *v1alpha1.Finding) error {
	if sent.Status == nil || got.Status != nil && equality.Semantic.DeepEqual(*sent.Status, *got.Status) {
		return nil
	}
	var lost []string
	differences("status", tree(sent.Status), tree(got.Status), func(path string) {
		if !slices.Contains(lost, path) {
			lost = append(lost, path)
		}
	})
	if len(lost) == 0 {
		return nil
	}
	slices.Sort(lost)
	s.definition.mu.Lock()
	if s.definition.missing == nil {
		s.definition.missing = map[string]bool{}
	}
	for _, path := range lost {
		s.definition.missing[path] = true
	}
	s.definition.mu.Unlock()
	if slices.ContainsFunc(lost, isEssential) {
		return fmt.Errorf("the API server dropped %s: upgrade the CustomResourceDefinition", strings.Join(lost, ", "))
	}
	return nil
}

func tree(status *v1alpha1.FindingStatus) any {
	if status == nil {
		return nil
	}
	var out any
	data, err := json.Marshal(status)
	if err != nil || json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

// differences calls f with the path of each field of a document that another one lacks.
func differences(path string, sent, got any, f func(string)) {
	switch sent := sent.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			f(path)
			return
		}
		for name, value := range sent {
			differences(path+"."+name, value, got[name], f)
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(sent) {
			f(path)
			return
		}
		for i := range sent {
			differences(path+"[]", sent[i], got[i], f)
		}
	default:
		if !reflect.DeepEqual(sent, got) {
			f(path)
		}
	}
}

// fieldsOf returns the paths of the fields of a type, and whether each has fields of its
// own.
func fieldsOf(t reflect.Type, path string) map[string]bool {
	out := map[string]bool{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := path + "." + name
		out[at] = true
		if kind := field.Type; kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct {
			maps.Copy(out, fieldsOf(kind.Elem(), at+"[]"))
		}
	}
	return out
}

func parent(path string) string {
	path = path[:strings.LastIndexByte(path, '.')]
	return strings.TrimSuffix(path, "[]")
}

// schema is a part of an OpenAPI schema.
type schema struct {
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
}

// servedFields returns the paths of the fields that the API server keeps.
func (s *Store) servedFields(ctx context.Context) (map[string]bool, error) {
	var doc struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	err := s.client.Retry(kube.Quiet(ctx), func(ctx context.Context) error {
		reply, err := kube.Body(ctx, s.client.REST().Verb(http.MethodGet).
			AbsPath("/openapi/v3/apis", v1alpha1.Group, v1alpha1.Version).SetHeader("Accept", "application/json"))
		if err != nil {
			return err
		}
		return json.Unmarshal(reply, &doc)
	})
	if err != nil {
		return nil, fmt.Errorf("read the schema of findings: %w", err)
	}
	for name, root := range doc.Components.Schemas {
		if strings.HasSuffix(name, "."+v1alpha1.Kind) && root.Properties["status"] != nil {
			served := map[string]bool{}
			root.walk("", served)
			return served, nil
		}
	}
	return nil, fmt.Errorf("read the schema of findings: it has no %s", v1alpha1.Kind)
}

func (s *schema) walk(path string, into map[string]bool) {
	if s.Items != nil {
		s.Items.walk(path+"[]", into)
	}
	for name, field := range s.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		into[at] = true
		field.walk(at, into)
	}
}
