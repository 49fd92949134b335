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
		Items    []rawFinding    `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, "", fmt.Errorf("decode list: %w", err)
	}
	if list.Metadata.ResourceVersion == "" {
		return nil, "", errNoList
	}
	return list.Items, list.Metadata.Continue, nil
}
