package hosts

import "testing"

func TestIntersectHosts(t *testing.T) {
	const nothing = "nothing"
	for _, c := range []struct{ name, a, b, want string }{
		{"every host and every host", "", "", ""},
		{"every host and an exact one", "", "shop.example.com", "shop.example.com"},
		{"every host and a wildcard", "", "*.example.com", "*.example.com"},

		{"equal exact hosts", "shop.example.com", "shop.example.com", "shop.example.com"},
		{"different exact hosts", "shop.example.com", "pay.example.com", nothing},
		{"an exact host and its parent domain", "shop.example.com", "example.com", nothing},

		{"a wildcard and a host one label below", "*.example.com", "shop.example.com", "shop.example.com"},
		{"a wildcard and a host several labels below", "*.example.com", "a.b.c.example.com", "a.b.c.example.com"},
		{"a wildcard and its apex", "*.example.com", "example.com", nothing},
		{"a wildcard and a name that ends alike", "*.example.com", "myexample.com", nothing},
		{"a wildcard and a host of another domain", "*.example.com", "shop.example.org", nothing},
		{"a wildcard and a host above its apex", "*.a.example.com", "example.com", nothing},
		{"a wildcard and a host beside its apex", "*.a.example.com", "b.example.com", nothing},

		{"equal wildcards", "*.example.com", "*.example.com", "*.example.com"},
		{"a wildcard and a deeper one", "*.example.com", "*.a.example.com", "*.a.example.com"},
		{"a wildcard and one several labels deeper", "*.com", "*.a.example.com", "*.a.example.com"},
		{"wildcards beside each other", "*.a.example.com", "*.b.example.com", nothing},
		{"wildcards that end alike", "*.example.com", "*.myexample.com", nothing},
		{"a wildcard of one label and an exact host of one label", "*.com", "com", nothing},
	} {
		for _, side := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			got, ok := intersectHosts(side[0], side[1])
			if !ok {
				got = nothing
			}
			if got != c.want {
				t.Errorf("%s: intersectHosts(%q, %q) = %q, want %q", c.name, side[0], side[1], got, c.want)
			}
		}
	}
}
