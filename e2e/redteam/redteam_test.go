package redteam

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fewSeeds is the default number of attacks.
const fewSeeds = "300"

// sweeps is how often each attack is swept.
const sweeps = 5

// planned returns the attack of a seed, with those of its tricks that keep keeps. Each trick
// has randomness of its own, so that leaving one out changes nothing about the others.
func planned(seed uint64, keep func(name string) bool) *attack {
	r := rand.New(rand.NewPCG(seed, 0))
	a := newAttack(r, sweeps)
	a.begin(r)
	r = rand.New(rand.NewPCG(seed, 1))
	all := tricks()
	for i := range r.IntN(4) {
		tr := all[r.IntN(len(all))]
		own := rand.New(rand.NewPCG(seed, uint64(2+i)))
		if slices.Contains(a.tricks, tr.name) || tr.fits != nil && !tr.fits(a) || !keep(tr.name) {
			continue
		}
		tr.apply(own, a)
		a.tricks = append(a.tricks, tr.name)
	}
	return a
}

// minimal returns the attack of a seed with as few tricks as break a law.
func minimal(t *testing.T, seed uint64) *attack {
	whole := planned(seed, func(string) bool { return true })
	needed := slices.Clone(whole.tricks)
	for _, name := range whole.tricks {
		fewer := slices.DeleteFunc(slices.Clone(needed), func(n string) bool { return n == name })
		if len(planned(seed, func(n string) bool { return slices.Contains(fewer, n) }).play(t)) > 0 {
			needed = fewer
		}
	}
	return planned(seed, func(n string) bool { return slices.Contains(needed, n) })
}

// TestLawsHoldAgainstATenant plays random attacks, each seeded by its number.
// AUDIT_REDTEAM_SEEDS is the number of attacks, AUDIT_REDTEAM_SEED the first seed;
// AUDIT_REDTEAM_DUMP is a folder for the objects of those that break a law.
func TestLawsHoldAgainstATenant(t *testing.T) {
	first := number(t, cmp.Or(os.Getenv("AUDIT_REDTEAM_SEED"), "1"))
	few := fewSeeds
	if testing.Short() {
		few = "60"
	}
	seeds := number(t, cmp.Or(os.Getenv("AUDIT_REDTEAM_SEEDS"), few))
	broken := map[string][]uint64{}
	for seed := first; seed < first+seeds; seed++ {
		a := planned(seed, func(string) bool { return true })
		if len(a.play(t)) == 0 {
			continue
		}
		a = minimal(t, seed)
		faults := a.play(t)
		why := cmp.Or(strings.Join(a.tricks, " + "), a.by+a.how)
		if len(broken[why]) == 0 {
			t.Errorf("seed %d: %s:\n  %s", seed, a, strings.Join(faults, "\n  "))
			dump(t, fmt.Sprintf("seed-%d.yaml", seed), a)
		}
		broken[why] = append(broken[why], seed)
	}
	for why, seeds := range broken {
		t.Logf("%d seeds like %d: %s", len(seeds), seeds[0], why)
	}
}

// TestEachTrickAlone plays each theft in the plain, each trick with some thefts, and each
// opening with some tricks.
func TestEachTrickAlone(t *testing.T) {
	every := 3
	switch {
	case testing.Short():
		every = 8
	case os.Getenv("AUDIT_REDTEAM_SEEDS") != "":
		every = 1
	}
	none := trick{name: "nothing else", apply: func(*rand.Rand, *attack) {}}
	n := uint64(0)
	play := func(begin func(r *rand.Rand, a *attack), tr trick) {
		n++
		if tr.name != none.name && n%uint64(every) > 0 {
			return
		}
		r := rand.New(rand.NewPCG(n, 0))
		a := newAttack(r, 3)
		begin(r, a)
		if !a.steals() && a.how == "" || tr.fits != nil && !tr.fits(a) {
			return
		}
		tr.apply(r, a)
		a.tricks = []string{tr.name}
		if broken := a.play(t); len(broken) > 0 {
			t.Errorf("%s:\n  %s", a, strings.Join(broken, "\n  "))
			dump(t, fmt.Sprintf("trick-%d.yaml", n), a)
		}
	}
	for i, tr := range floods() {
		for j, c := range thefts() {
			if (i+j)%8 == 0 {
				play(func(r *rand.Rand, a *attack) { a.steal(r, c) }, tr)
			}
		}
	}
	for _, tr := range append([]trick{none}, tricks()...) {
		for _, c := range thefts() {
			play(func(r *rand.Rand, a *attack) { a.steal(r, c) }, tr)
		}
		for _, o := range openings() {
			play(func(r *rand.Rand, a *attack) { a.open(r, o) }, tr)
		}
	}
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dump writes the last sweep of an attack to a file, if asked to.
func dump(t *testing.T, name string, a *attack) {
	t.Helper()
	dir := os.Getenv("AUDIT_REDTEAM_DUMP")
	if dir == "" {
		return
	}
	data := "# " + a.String() + "\n" + documents(a.world(a.steps[len(a.steps)-1], true))
	if err := os.WriteFile(dir+"/"+name, []byte(data), 0o644); err != nil {
		t.Error(err)
	}
}
