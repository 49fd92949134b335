package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
)

// job is the job that all metrics are pushed under.
const job = "audit"

// groupLabel tells the groups of a cluster apart. The picture has none.
const groupLabel = "group"

// Gateway is a Pushgateway.
type Gateway struct {
	url     string
	cluster string
	words   Vocabulary
	client  *client
}

// NewGateway returns the gateway at a URL, which keeps what is pushed under the
// name of the cluster. It connects to nothing yet, but reads the files of the
// options, so that a mistake shows before anything is swept.
func NewGateway(o Options, cluster string, v Vocabulary) (*Gateway, error) {
	// The errors of package url quote what may be a password.
	at, err := url.Parse(o.URL)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return nil, errors.New("push metrics: the URL of the Pushgateway is none of http or https")
	case at.User != nil:
		return nil, errors.New("push metrics: the URL of the Pushgateway holds a user or password")
	case cluster == "":
		return nil, errors.New("push metrics: the cluster has no name to push them under")
	}
	c, err := newClient(o)
	if err != nil {
		return nil, fmt.Errorf("push metrics: %w", err)
	}
	return &Gateway{url: at.String(), cluster: strings.ToValidUTF8(cluster, "?"), words: v, client: c}, nil
}

// Push replaces the group of the attempt, that of the picture if the sweep was
// complete, and that of the stamp if nothing failed. An attempt whose picture could
// not be pushed says so. The error names the URL and no secret.
func (g *Gateway) Push(ctx context.Context, s *Sweep) error {
	var errs []error
	if s.Complete() {
		errs = append(errs, g.replace(ctx, "", func(to prometheus.Registerer) { picture(to, s, &g.words) }))
	}
	unpushed := errors.Join(errs...) != nil
	errs = append(errs, g.replace(ctx, "attempt", func(to prometheus.Registerer) {
		attempt(to, s, &g.words, unpushed)
		build(to, &g.words)
	}))
	if s.Succeeded() && errors.Join(errs...) == nil {
		errs = append(errs, g.replace(ctx, "success", func(to prometheus.Registerer) { stamp(to, s) }))
	}
	return errors.Join(errs...)
}

// replace puts metrics in the place of all that is in a group.
func (g *Gateway) replace(ctx context.Context, group string, fill func(prometheus.Registerer)) error {
	r := prometheus.NewRegistry()
	fill(r)
	p := push.New(g.url, job).Client(g.client).Gatherer(r).Grouping("cluster", g.cluster)
	if group != "" {
		p = p.Grouping(groupLabel, group)
	}
	if err := p.PushContext(ctx); err != nil {
		return fmt.Errorf("push metrics: %w", err)
	}
	return nil
}
