package kube

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/eventuallytrue/audit/audit"
)

// eventSender is the name of Events among what tells of findings.
const eventSender = "events"

// outcomeOf says what the answer to a creation means.
func outcomeOf(err error) recorded {
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return recorded{}
	// The namespace is gone, or just going: it takes nothing new.
	case apierrors.IsNotFound(err) && !unserved(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return recorded{gone: true}
	}
	return recorded{err: err}
}

// deliveries sums up what became of the Events of a plan, by result.
func (p *plan) deliveries(results []recorded) []audit.Delivery {
	n := map[audit.DeliveryResult]int{}
	example := map[audit.DeliveryResult]string{}
	for i, r := range results {
		switch {
		case r.gone:
		case r.err == nil:
			n[audit.DeliverySent]++
		default:
			result := audit.DeliveryFailed
			if refusedForGood(r.err) {
				result = audit.DeliveryRefused
			}
			if n[result]++; n[result] == 1 {
				example[result] = oneLine(fmt.Sprintf("on %s: %s", p.entries[i].ref, reason(r.err)))
			}
		}
	}
	var out []audit.Delivery
	for _, result := range []audit.DeliveryResult{audit.DeliveryFailed, audit.DeliveryRefused, audit.DeliverySent} {
		d := audit.Delivery{Sender: eventSender, Result: result}
		switch {
		case n[result] == 0:
			continue
		case result != audit.DeliverySent:
			d.Reason = fmt.Sprintf("%d of %d Events, such as that %s", n[result], len(results), example[result])
		case p.left > 0:
			d.Reason = fmt.Sprintf("%d objects too many were left out", p.left)
		}
		out = append(out, d)
	}
	return out
}

// refusedForGood reports whether the same request would be refused again.
func refusedForGood(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}
