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

// Board shows what the sweeps of a process come to, and the process itself. It may
// be used by several goroutines at once.
type Board struct {
	cluster string
	words   Vocabulary
	process *prometheus.Registry

	mu                      sync.Mutex
	picture, attempt, stamp prometheus.Gatherer // nil: none yet
}

// NewBoard returns a board for a cluster, with nothing on it but the process.
// Metrics of sweeps have the cluster as a label, as a group at a Pushgateway does.
func NewBoard(cluster string, v Vocabulary) *Board {
	b := &Board{cluster: strings.ToValidUTF8(cluster, "?"), words: v, process: prometheus.NewRegistry()}
	b.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build(b.labelled(b.process), &b.words)
	return b
}

func (b *Board) labelled(to prometheus.Registerer) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"cluster": b.cluster}, to)
}

// Show replaces what an earlier sweep left. The picture stays where the sweep was
// incomplete, and the stamp where something failed.
func (b *Board) Show(s *Sweep) {
	fresh := func(fill func(prometheus.Registerer)) prometheus.Gatherer {
		r := prometheus.NewRegistry()
		fill(b.labelled(r))
		return r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempt = fresh(func(to prometheus.Registerer) { attempt(to, s, &b.words, false) })
	if s.Complete() {
		b.picture = fresh(func(to prometheus.Registerer) { picture(to, s, &b.words) })
	}
	if s.Succeeded() {
		b.stamp = fresh(func(to prometheus.Registerer) { stamp(to, s) })
	}
}

// Clear takes down what sweeps left: another process sweeps now, and shows it.
func (b *Board) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.picture, b.attempt, b.stamp = nil, nil, nil
}

// Gather implements prometheus.Gatherer.
func (b *Board) Gather() ([]*dto.MetricFamily, error) {
	b.mu.Lock()
	all := prometheus.Gatherers{b.process}
	for _, g := range []prometheus.Gatherer{b.picture, b.attempt, b.stamp} {
		if g != nil {
			all = append(all, g)
		}
	}
	b.mu.Unlock()
	return all.Gather()
}

// Handler serves the board to Prometheus.
func (b *Board) Handler() http.Handler {
	return promhttp.HandlerFor(b, promhttp.HandlerOpts{
		// One that is slow to read must not make the others wait, nor pile up.
		MaxRequestsInFlight: 4,
		Timeout:             5 * time.Second,
	})
}
