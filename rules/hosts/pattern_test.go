package hosts

import (
	"strings"
	"testing"
	"unicode"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ name, host, want string }{
		{"a normal host stays as it is", "shop.example.com", "shop.example.com"},
		{"letters become small", "Shop.EXAMPLE.com", "shop.example.com"},
		{"blanks around it go", " \tshop.example.com\n", "shop.example.com"},
		{"one trailing dot goes", "shop.example.com.", "shop.example.com"},
		{"nothing is every host", "", ""},
		{"a lone asterisk is every host", " * ", ""},
		{"a wildcard stays one", "*.Example.COM.", "*.example.com"},
		{"letters of a language become ASCII", "bücher.example.com", "xn--bcher-kva.example.com"},
		{"capitals of a language too", "BÜCHER.example.com.", "xn--bcher-kva.example.com"},
		{"letters put together of two signs too", "bu\u0308cher.example.com", "xn--bcher-kva.example.com"},
		{"a wildcard in a language too", "*.bücher.example.com", "*.xn--bcher-kva.example.com"},
		{"full stops of other scripts are dots", "shop\u3002example\uff0ecom\uff61", "shop.example.com"},
		{"a sharp s stays one, as browsers have it", "straße.example.com", "xn--strae-oqa.example.com"},
		{"ASCII that encodes a name stays as it is", "XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"},
		{"an underscore is accepted", "_dmarc.bücher.example.com", "_dmarc.xn--bcher-kva.example.com"},
		{"text that is not a name stays as it is", "a\u2024.\u200d", "a\u2024.\u200d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Normalize(c.host); got != c.want {
				t.Errorf("Normalize(%q) = %q, want %q", c.host, got, c.want)
			}
		})
	}
}

func TestParentWildcard(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"a.example.com", "*.example.com"},
		{"*.a.example.com", "*.example.com"},
		{"*.example.com", "*.com"},
		{"example.com", "*.com"},
		{"com", ""},
		{"*.com", ""},
		{"com.", ""},
		{"", ""},
	} {
		if got, ok := parentWildcard(c.host); got != c.want || ok != (c.want != "") {
			t.Errorf("parentWildcard(%q) = %q, %v, want %q", c.host, got, ok, c.want)
		}
	}
}

// The chain of wildcards above a host ends, and each covers the one below.
func TestParentWildcardsEnd(t *testing.T) {
	host, steps := strings.Repeat("a.", 120)+"com", 0
	for wildcard, ok := parentWildcard(host); ok; wildcard, ok = parentWildcard(wildcard) {
		if !IsWildcard(wildcard) || !strings.HasSuffix(host, wildcard[1:]) {
			t.Fatalf("%q is not a wildcard over %q", wildcard, host)
		}
		steps++
	}
	if steps != 120 {
		t.Errorf("%d wildcards above the host, want 120", steps)
	}
}

// A normalized host is its own normal form, unless spaces or dots are left at its
// end: only one dot is removed, and a space before it stays.
func FuzzNormalize(f *testing.F) {
	for _, host := range []string{
		"", ".", "*", "*.", "*.a.", "a..", "a .", "Shop.Example.COM.", "bücher.de", "*.BÜCHER.de.", "a\u3002b\uff61",
		"\u00ad", "xn--\u00fc", "ẞ.de", "\xff", "K.com", strings.Repeat("ü", 300),
	} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		normal := Normalize(host)
		if strings.TrimRightFunc(normal, func(r rune) bool { return r == '.' || unicode.IsSpace(r) }) != normal {
			return
		}
		if again := Normalize(normal); again != normal {
			t.Errorf("Normalize(%q) = %q, whose normal form is %q", host, normal, again)
		}
	})
}

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
