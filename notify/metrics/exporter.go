package metrics

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Exporter serves the metrics of the last sweep of a process, and of the process. It
// is safe for concurrent use.
type Exporter struct {
	cluster string
	values  LabelValues
	process *prometheus.Registry

	mu                        sync.Mutex
	results, attempt, success prometheus.Gatherer // nil: none yet
}

// NewExporter returns an exporter for a cluster that has metrics of the process only.
// Metrics of sweeps have the cluster as a label, as a group at a Pushgateway does.
func NewExporter(cluster string, v LabelValues) *Exporter {
	e := &Exporter{cluster: strings.ToValidUTF8(cluster, "?"), values: v, process: prometheus.NewRegistry()}
	e.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build(e.labeled(e.process), &e.values)
	return e
}

func (e *Exporter) labeled(to prometheus.Registerer) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"cluster": e.cluster}, to)
}

// Update replaces the metrics of the previous sweep. The results stay if the sweep
// was incomplete, and the time of success if something failed.
func (e *Exporter) Update(s *Sweep) {
	fresh := func(fill func(prometheus.Registerer)) prometheus.Gatherer {
		r := prometheus.NewRegistry()
		fill(e.labeled(r))
		return r
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attempt = fresh(func(to prometheus.Registerer) { attempt(to, s, &e.values, false) })
	if s.Complete() {
		e.results = fresh(func(to prometheus.Registerer) { results(to, s, &e.values) })
	}
	if s.Succeeded() {
		e.success = fresh(func(to prometheus.Registerer) { success(to, s) })
	}
}

// Clear removes the metrics of sweeps, because another process sweeps from now on
// and exports its own.
func (e *Exporter) Clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.results, e.attempt, e.success = nil, nil, nil
}

// Gather implements prometheus.Gatherer.
func (e *Exporter) Gather() ([]*dto.MetricFamily, error) {
	e.mu.Lock()
	all := prometheus.Gatherers{e.process}
	for _, g := range []prometheus.Gatherer{e.results, e.attempt, e.success} {
		if g != nil {
			all = append(all, g)
		}
	}
	e.mu.Unlock()
	return all.Gather()
}

// Handler serves the metrics to Prometheus.
func (e *Exporter) Handler() http.Handler {
	return promhttp.HandlerFor(e, promhttp.HandlerOpts{
		// Slow scrapes must not pile up.
		MaxRequestsInFlight: 4,
		Timeout:             5 * time.Second,
	})
}
