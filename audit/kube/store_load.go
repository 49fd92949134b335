package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
)

// findingsOfPage is how many findings are asked for at first. Of most there are a few
// kB, which is known before one is read.
const findingsOfPage = 1000

// Load implements audit.Store. It reads in pages, as a Source reads a kind.
func (s *Store) Load(ctx context.Context) (records []audit.Stored, newer []string, err error) {
	findings := list{first: findingsOfPage, request: func(opts metav1.ListOptions) *rest.Request {
		return paged(s.request(http.MethodGet), opts)
	}, read: func(body *bufio.Reader, p *page) error {
		// A list that has expired is begun again, and so is a page that broke off.
		if p.opts.Continue == "" {
			records, newer = nil, nil
		}
		text, err := p.whole(body)
		if err != nil {
			return err
		}
		if known, ok := readKnown(text); ok {
			for _, f := range known.findings {
				records = append(records, newStored(f))
			}
			return p.head(known.meta.ResourceVersion, known.meta.Continue, int64(len(text)))
		}
		readable, other := records, newer
		err = readJSON(bytes.NewReader(text), p, func(item *listedFinding) error {
			if f, err := readFinding(item.raw()); err != nil {
				newer = append(newer, item.Metadata.Name)
			} else {
				records = append(records, newStored(f))
			}
			return nil
		})
		if err != nil {
			records, newer = readable, other
		}
		return err
	}}
	if _, _, err := s.conn.all(klog.NewContext(ctx, klog.Logger{}), findings); err != nil {
		return nil, nil, fmt.Errorf("list findings: %w", refusal(err))
	}
	slices.SortFunc(records, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(newer)
	return records, newer, nil
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

func (l *listedFinding) raw() *rawFinding {
	return &rawFinding{
		APIVersion: l.APIVersion, Kind: l.Kind, Spec: l.Spec, Status: l.Status,
		Metadata: metav1.ObjectMeta{Name: l.Metadata.Name, ResourceVersion: l.Metadata.ResourceVersion, Labels: l.Metadata.Labels},
	}
}
