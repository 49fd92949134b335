package source_test

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Three hundred Ingresses as large as an API server stores them fit the memory limit of
// the chart, and none of their hosts is kept.
func TestMemoryOfManyHosts(t *testing.T) {
	const objects, hosts, limit = 300, 60_000, 128 << 20
	one := networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "big"}}
	for h := range hosts {
		one.Spec.Rules = append(one.Spec.Rules, networkingv1.IngressRule{Host: fmt.Sprintf("h%d.shop.example.com", h)})
	}
	whole := encode(t, &networkingv1.IngressList{
		ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []networkingv1.Ingress{one, one},
	}, k8sruntime.ContentTypeProtobuf)
	one = networkingv1.Ingress{}
	pages := 0
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		body := whole
		if pages < objects/2 {
			next := fmt.Sprint(pages)
			// The token is a field of the metadata, which comes first.
			body = withContinue(whole, next)
		}
		_, _ = w.Write(body)
	}))
	s := newSource(t, cfg, source.Options{})
	runtime.GC()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit * 9 / 10)) // as the chart does
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak, done := make(chan uint64, 1), make(chan struct{})
	go func() {
		var most uint64
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapInuse+now.StackInuse)
			}
		}
	}()
	snap := read(t, s, []snapshot.Kind{snapshot.Ingresses})
	close(done)
	if got := <-peak; got > limit*3/4 {
		t.Errorf("the heap had %d MiB at most, want no more than %d", got>>20, limit*3/4>>20)
	} else {
		t.Logf("the heap had %d MiB at most, %d before", got>>20, before.HeapInuse>>20)
	}
	reads := snap.Reads()
	if len(reads) != 1 || reads[0].Items != objects || len(ingressNames(snap)) > 0 || len(snap.Faults()) != 1 {
		t.Errorf("reads %+v, %d ingresses, %d faults", reads, len(ingressNames(snap)), len(snap.Faults()))
	}
}

// withContinue returns a list of protobuf with a token of the next page. The lengths of
// the envelope and of the metadata are grown by that of the token.
func withContinue(list []byte, token string) []byte {
	var unknown k8sruntime.Unknown
	if err := unknown.Unmarshal(list[4:]); err != nil {
		panic(err)
	}
	// Field 1 (metadata) of the list is {2: "7"}: resourceVersion.
	raw := unknown.Raw
	size := int(raw[1])
	meta := append(append([]byte{}, raw[2:2+size]...), 0x1a, byte(len(token)))
	meta = append(meta, token...)
	grown := append([]byte{0x0a, byte(len(meta))}, meta...)
	unknown.Raw = append(grown, raw[2+size:]...)
	out, err := unknown.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), out...)
}
