package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Load implements audit.Store. It reads in pages, as a Source reads a kind.
func (s *Store) Load(ctx context.Context) (records []audit.Stored, newer []string, err error) {
	fetch := func(ctx context.Context, opts metav1.ListOptions) (page, error) {
		items, next, err := s.page(ctx, opts)
		return page{items: len(items), next: next, take: func(*snapshot.Facts) error {
			// A list that has expired is begun again.
			if opts.Continue == "" {
				records, newer = nil, nil
			}
			for i := range items {
				if f, err := readFinding(&items[i]); err != nil {
					newer = append(newer, items[i].Metadata.Name)
				} else {
					records = append(records, newStored(f))
				}
			}
			return nil
		}}, err
	}
	if _, _, err := s.conn.all(klog.NewContext(ctx, klog.Logger{}), fetch); err != nil {
		return nil, nil, fmt.Errorf("list findings: %w", refusal(err))
	}
	slices.SortFunc(records, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(newer)
	return records, newer, nil
}

// page asks for some findings and returns where the next page begins.
func (s *Store) page(ctx context.Context, opts metav1.ListOptions) ([]rawFinding, string, error) {
	request := s.request(http.MethodGet).Param("limit", strconv.FormatInt(opts.Limit, 10))
	if opts.Continue != "" {
		request = request.Param("continue", opts.Continue)
	}
	body, err := answer(ctx, request)
	if err != nil {
		return nil, "", err
	}
	var list struct {
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []listedFinding `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, "", fmt.Errorf("decode list: %w", err)
	}
	if list.Metadata.ResourceVersion == "" {
		return nil, "", errNoList
	}
	items := make([]rawFinding, len(list.Items))
	for i := range list.Items {
		items[i] = list.Items[i].raw()
	}
	return items, list.Metadata.Continue, nil
}

// listedFinding is a finding in a list, of whose metadata there is only what a
// record needs: who manages which field would be most of what is decoded.
type listedFinding struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string            `json:"name"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

func (l *listedFinding) raw() rawFinding {
	return rawFinding{
		APIVersion: l.APIVersion, Kind: l.Kind, Spec: l.Spec, Status: l.Status,
		Metadata: metav1.ObjectMeta{Name: l.Metadata.Name, ResourceVersion: l.Metadata.ResourceVersion, Labels: l.Metadata.Labels},
	}
}
