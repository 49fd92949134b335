package expression

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// branches are the texts that an expression stands for, and whether it matches others.
type branches struct {
	branches []branch
	wider    bool
}

// branch is one text, and whether it is bound to the beginning and the end of a host.
type branch struct {
	text       string
	begin, end bool
}

// letters are the characters of hosts in the form in which they are compared.
const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_."

// expand lists the texts that an expression stands for. What matches any number of
// characters stands for none. A dot that is not escaped matches every character, and
// almost always means a dot, so it stands for one and is wider as well.
func expand(re *syntax.Regexp) branches {
	switch re.Op {
	case syntax.OpNoMatch:
		return branches{}
	case syntax.OpLiteral:
		return one(branch{text: strings.ToLower(string(re.Rune))})
	case syntax.OpCharClass:
		return class(re)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return branches{branches: []branch{{text: "."}}, wider: true}
	case syntax.OpBeginLine, syntax.OpBeginText:
		return one(branch{begin: true})
	case syntax.OpEndLine, syntax.OpEndText:
		return one(branch{end: true})
	case syntax.OpCapture:
		return expand(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return branches{wider: true}
	case syntax.OpQuest:
		return union(expand(re.Sub[0]), one(branch{}))
	case syntax.OpRepeat:
		return repeat(re)
	case syntax.OpConcat:
		all := one(branch{})
		for _, sub := range re.Sub {
			all = product(all, expand(sub))
		}
		return all
	case syntax.OpAlternate:
		var all branches
		for _, sub := range re.Sub {
			all = union(all, expand(sub))
		}
		return all
	}
	return one(branch{}) // nothing, or a boundary of a word, which matching checks
}

func one(b branch) branches { return branches{branches: []branch{b}} }

func class(re *syntax.Regexp) (out branches) {
	for _, r := range letters {
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= r && r <= re.Rune[i+1] {
				out.branches = append(out.branches, branch{text: string(r)})
				break
			}
		}
	}
	return out
}

func repeat(re *syntax.Regexp) branches {
	if re.Max < 0 {
		return branches{wider: true}
	}
	sub := expand(re.Sub[0])
	power, all := one(branch{}), branches{}
	for n := 0; n <= re.Max; n++ {
		if n > 0 {
			power = product(power, sub)
		}
		if n >= re.Min {
			all = union(all, power)
		}
		if len(power.branches) == 0 || len(all.branches) >= maxNames {
			all.wider = all.wider || power.wider || n < re.Max
			break
		}
	}
	return all
}

// union returns what either of two matches.
func union(a, b branches) branches {
	out := branches{wider: a.wider || b.wider, branches: slices.Clone(a.branches)}
	seen := map[branch]bool{}
	for _, x := range a.branches {
		seen[x] = true
	}
	for _, x := range b.branches {
		switch {
		case seen[x]:
		case len(out.branches) == maxNames:
			out.wider = true
		default:
			out.branches, seen[x] = append(out.branches, x), true
		}
	}
	return out
}

// product returns what one matches followed by the other.
func product(a, b branches) branches {
	if len(a.branches)*len(b.branches) > maxNames {
		return branches{wider: true}
	}
	out := branches{wider: a.wider || b.wider}
	seen := map[branch]bool{}
	for _, x := range a.branches {
		for _, y := range b.branches {
			if x.end && y.text != "" || y.begin && x.text != "" {
				continue // nothing matches
			}
			z := branch{text: x.text + y.text, begin: x.begin || y.begin, end: x.end || y.end}
			if !seen[z] {
				seen[z], out.branches = true, append(out.branches, z)
			}
		}
	}
	return out
}
