package logging

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// hidden stands where a secret stood.
const hidden = "***"

// shortest is the number of bytes from which on a value counts as a secret:
// a shorter one would blacken innocent text.
const shortest = 6

// Secrets knows what no line of a log may repeat. Nil knows none.
type Secrets struct{ replacer *strings.Replacer }

// SecretsOf returns the secrets of an environment of NAME=VALUE pairs: the
// values, from six bytes on, of variables whose names speak of a token,
// secret, password, key or credential.
func SecretsOf(environment []string) *Secrets {
	var values []string
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) >= shortest && secret(name) {
			values = append(values, forms(value)...)
		}
	}
	// The replacer takes the first that fits: a longer one that begins with
	// a shorter one has to come before it.
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, value := range slices.Compact(values) {
		pairs = append(pairs, value, hidden)
	}
	return &Secrets{replacer: strings.NewReplacer(pairs...)}
}

func secret(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "_KEY", "CREDENTIAL"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// forms returns value as it may stand in a sentence, quoted in one, or within
// the JSON of either.
func forms(value string) []string {
	all := []string{value, strings.TrimSpace(value)}
	for range 2 {
		for _, form := range slices.Clone(all) {
			all = append(all, inside(strconv.Quote(form)))
			if encoded, err := json.Marshal(form); err == nil {
				all = append(all, inside(string(encoded)))
			}
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < shortest })
}

// inside returns what stands between the quotes.
func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

// Hide returns s with every secret replaced by ***.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// clean returns r without secrets, every value as text.
func (s *Secrets) clean(r slog.Record) slog.Record {
	out := slog.NewRecord(r.Time, r.Level, s.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		for _, flat := range appendFlat(nil, "", a) {
			out.AddAttrs(slog.String(flat.Key, s.Hide(render(flat.Value))))
		}
		return true
	})
	return out
}
