package hostsource_test

import (
	"testing"

	"github.com/eventuallytrue/audit/audit/hostsource"
)

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		source  hostsource.Source
		objects []objectOf
	}{
		{builtIn(b, "routes.route.openshift.io"), openshiftObjects()},
		{builtIn(b, "virtualservices.networking.istio.io"), istioObjects()},
		{builtIn(b, "ingressroutes.traefik.io"), traefikObjects()},
		{builtIn(b, "httpproxies.projectcontour.io"), contourObjects()},
		{builtIn(b, "domainmappings.serving.knative.dev"), knativeObjects()},
	} {
		b.Run(c.source.Object, func(b *testing.B) {
			object := decode(b, c.objects[0].object)
			for b.Loop() {
				read(b, c.source, object)
			}
		})
	}
}
