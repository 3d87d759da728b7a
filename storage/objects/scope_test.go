package objects

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/leslie-sh/leslie/errcodes"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		scope, path string
		want        bool
	}{
		{"src", "src", true}, {"src", "src/a/b.go", true}, {"src", "srcs/a", false}, {"src", "a/src", false},
		{"src/", "src/a", true}, {"./src", "src/a", true}, {".", "anything/at/all", true},
		{"src/a", "src/a/x", true}, {"src/a", "src/b", false}, {"src/a", "src", false},
		{"*.md", "a.md", true}, {"*.md", "docs/a.md", false}, {"*.md", "a.mdx", false},
		{"**/*.go", "a.go", true}, {"**/*.go", "x/y/a.go", true}, {"**/*.go", "x/y/a.c", false},
		{"**", "x/y", true}, {"src/**", "src/a/b", true}, {"src/**", "lib/a", false},
		{"src/**/test", "src/test", true}, {"src/**/test", "src/a/b/test/x.go", true}, {"src/**/test", "src/a/b", false},
		{"**/a/**/b", "x/a/y/z/b", true}, {"**/a/**/b", "x/b/a", false}, {"**/a/b", "a/a/b", true}, {"**/a/b", "a/x/a/a/b", true},
		{"a?c", "abc", true}, {"a?c", "a/c", false}, {"[ab].txt", "b.txt", true}, {"[ab].txt", "c.txt", false},
		{"app/[id].tsx", "app/[id].tsx", true}, {"[open", "[open", true}, {"[open", "o", false}, {"a*", "a/b", true},
	} {
		if got := Match(c.scope, c.path); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.scope, c.path, got)
		}
	}
}

func TestMatchIsNotSlow(t *testing.T) {
	scope := strings.Repeat("**/a/", 100) + "b"
	path := strings.TrimSuffix(strings.Repeat("a/", 400), "/")
	if Match(scope, path) {
		t.Error("it matches")
	}
}

func TestWithin(t *testing.T) {
	if !Within(nil, "a") || !Within([]string{"b", "a"}, "a") || Within([]string{"b"}, "a") {
		t.Error("no scopes cover everything, some cover what one of them does")
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src", "src", true}, {"src", "src/a", true}, {"src", "lib", false}, {"src/a", "src/b", false},
		{"*.md", "a.md", true}, {"*.md", "a.go", false}, {"*.md", "a*", true}, {"**/x", "y", true}, {".", "a", true}, {"src/*.go", "src/a", false},
	} {
		if Overlap(c.a, c.b) != c.want || Overlap(c.b, c.a) != c.want {
			t.Errorf("Overlap(%q, %q) is not %v", c.a, c.b, c.want)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for _, good := range []string{"a", "a/b.md", ".hidden", "a b", `back\slash`, "ü/日本", "...", "a..b", strings.Repeat("x", 255)} {
		if err := CheckPath(good); err != nil {
			t.Errorf("CheckPath(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "./a", "a/.", "a\x00b", "a\nb", "a\x7f", "a\u202eb", "a\u2066", "a\u0085",
		"\xff", strings.Repeat("x", 256), strings.Repeat("x/", 512) + "x",
	} {
		if err := CheckPath(bad); !errors.Is(err, errcodes.Usage) {
			t.Errorf("CheckPath(%q) = %v, not T903", bad, err)
		}
	}
}

func TestCheckScopes(t *testing.T) {
	if err := CheckScopes([]string{"src/", ".", "./a", "**/*.go", "[x"}); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]string{{""}, {"/a"}, {"../a"}, {"a", "b/../c"}, {"\x01"}, slices.Repeat([]string{"a"}, 101)} {
		if err := CheckScopes(bad); !errors.Is(err, errcodes.Usage) {
			t.Errorf("CheckScopes(%q) = %v, not T903", bad, err)
		}
	}
}

func TestCheckID(t *testing.T) {
	for _, good := range []string{"a", "thread-1", "A_b", "9", strings.Repeat("x", 64)} {
		if err := CheckID(good); err != nil {
			t.Errorf("CheckID(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{"", "-a", "__proto__", "../../evil", "a/b", "a b", "a\n", "é", strings.Repeat("x", 65), strings.Repeat("x", 100_000)} {
		err := CheckID(bad)
		if !errors.Is(err, errcodes.Usage) || len(err.Error()) > 400 {
			t.Errorf("CheckID(%.80q) = %v, not a short T903", bad, err)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"thread-abc123", "thread-abd123", "thread-zzzzzz", "thread-abc124", "thread-abc1", "plan", "plant"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"thread-abc123", []string{"thread-abc123", "thread-abd123", "thread-abc124"}},
		{"thread-abc", []string{"thread-abc1", "thread-abc123", "thread-abc124"}},
		{"plam", []string{"plan"}}, {"plan", []string{"plan", "plant"}}, {"x", nil}, {"pla", []string{"plan"}}, {"thread-", nil}, {"", nil},
	} {
		if got := Nearest(c.name, slices.Values(known)); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%q) = %v, want %v", c.name, got, c.want)
		}
	}
}

func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting", 3)
	f.Add("", "abc", 2)
	f.Fuzz(func(t *testing.T, a, b string, bound int) {
		if bound < 0 || bound > 8 || len(a) > 40 || len(b) > 40 {
			return
		}
		if got, want := distance(a, b, bound), min(plainDistance(a, b), bound+1); got != want {
			t.Errorf("distance(%q, %q, %d) = %d, want %d", a, b, bound, got, want)
		}
	})
}

func plainDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
				table[i][j] = i + j
			case a[i-1] == b[j-1]:
				table[i][j] = table[i-1][j-1]
			default:
				table[i][j] = 1 + min(table[i-1][j-1], table[i-1][j], table[i][j-1])
			}
		}
	}
	return table[len(a)][len(b)]
}
