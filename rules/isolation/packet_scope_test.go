package isolation_test

import (
	"fmt"
	"math/big"
	"slices"
)

// passes reports whether some policies let a packet pass.
func (j *packetJudge) passes(policies []int, end, port int) bool {
	for _, p := range policies {
		if slices.ContainsFunc(j.rules[p], func(r triedRule) bool { return r.ends[end] && r.ports[port] }) {
			return true
		}
	}
	return false
}

// cluster reports whether some policies admit every pod by a port.
func (j *packetJudge) cluster(policies []int, port int) bool {
	for end := range j.pods {
		if !j.passes(policies, end, port) {
			return false
		}
	}
	return true
}

// world reports whether the policies admit the public addresses of either
// version of IP by a port.
func (j *packetJudge) world(policies []int, port int) bool {
	var passed, whole [2]big.Int
	for i := range j.outside {
		s := &j.outside[i]
		if !s.public {
			continue
		}
		version := 0
		if s.addr.Is6() {
			version = 1
		}
		whole[version].Add(&whole[version], s.size)
		if j.passes(policies, len(j.pods)+i, port) {
			passed[version].Add(&passed[version], s.size)
		}
	}
	enough := func(version int) bool {
		a, b := new(big.Int).Mul(&passed[version], big.NewInt(16)), new(big.Int).Mul(&whole[version], big.NewInt(15))
		return a.Cmp(b) >= 0
	}
	return enough(0) || enough(1)
}

// scope returns how far some policies together open a pod, in the word of the
// report.
func (j *packetJudge) scope(policies []int) string {
	key := fmt.Sprint(policies)
	scope, ok := j.known[key]
	if !ok {
		scope = j.tryScope(policies)
		j.known[key] = scope
	}
	return scope
}

func (j *packetJudge) tryScope(policies []int) string {
	cluster, world := [3]bool{true, true, true}, [3]bool{true, true, true}
	for i, protocol := range packetProtocols() {
		for port := range j.ports {
			if j.ports[port].protocol == protocol {
				cluster[i] = cluster[i] && j.cluster(policies, port)
				world[i] = world[i] && j.world(policies, port)
			}
		}
	}
	every := [3]bool{true, true, true}
	switch {
	case cluster == every && world == every:
		return "all"
	case world == every:
		return "world"
	case cluster[0] && world[0]:
		return "tcp"
	case cluster == every:
		return "cluster"
	case world[0]:
		return "world"
	case cluster[0]:
		return "cluster"
	}
	return ""
}
