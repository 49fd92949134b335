package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
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
		readable, other := records, newer
		err := readFindings(body, p, func(f *v1alpha1.Finding) {
			records = append(records, newStored(f))
		}, func(name string) {
			newer = append(newer, name)
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

// mostAtOnce is how many bytes of findings are held at once. Common ones are decoded
// fastest together, and of uncommon ones a page may have hundreds of MiB.
const mostAtOnce = 8 << 20

// readFindings reads a page of findings, and tells of each that is as this program
// writes it, or else its name. After an error nothing that it told counts.
func readFindings(body *bufio.Reader, p *page, known func(*v1alpha1.Finding), other func(name string)) error {
	text, whole, err := p.begin(body, mostAtOnce)
	if err != nil {
		return err
	}
	if all, ok := readKnown(text); ok && whole {
		p.items = len(all.findings)
		for _, f := range all.findings {
			known(f)
		}
		return p.head(all.meta.ResourceVersion, all.meta.Continue, int64(len(text)))
	}
	return readJSON(io.MultiReader(bytes.NewReader(text), body), p, func(item json.RawMessage) error {
		var listed listedFinding
		if err := json.Unmarshal(item, &listed); err != nil {
			return err
		}
		if f, err := readFinding(listed.raw()); err != nil {
			other(listed.Metadata.Name)
		} else {
			known(f)
		}
		return nil
	})
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
