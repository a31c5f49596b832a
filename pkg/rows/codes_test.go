package rows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestCodesStayAsPublished(t *testing.T) {
	t.Parallel()
	const published = "invalid_utf8 bom_inside utf16 invalid_json multiline_object lone_surrogate number_out_of_range " +
		"too_deep duplicate_key not_an_object missing_custom_id empty_custom_id custom_id_not_string custom_id_too_long " +
		"missing_method method_not_post missing_url url_not_allowed missing_body body_not_object missing_model " +
		"model_not_string model_too_long model_not_allowed no_place stream_true reasoning_not_allowed unknown_effort row_too_large misnamed_field other_vendor " +
		"duplicate_body_key integer_out_of_range missing_max_tokens tiny_max_tokens"
	if got := strings.Join(declaredCodes(t), " "); got != published {
		t.Errorf("codes are %s", got)
	}
}

func TestOneParserJudgesEachRowAlone(t *testing.T) {
	t.Parallel()
	var examples []string
	for _, reason := range rows.Reasons() {
		examples = append(examples, reason.Example, open+`"t":1}}`)
	}
	var parser rows.Parser
	for range 50 {
		rand.Shuffle(len(examples), func(i, j int) { examples[i], examples[j] = examples[j], examples[i] })
		for _, line := range examples {
			row, fault := parser.Parse([]byte(line), nil)
			alone, faultAlone := rows.Parse([]byte(line), nil)
			if !reflect.DeepEqual(row, alone) || !reflect.DeepEqual(fault, faultAlone) {
				t.Fatalf("%q: %v %v after others, %v %v alone", line, row, fault, alone, faultAlone)
			}
		}
	}
}

// declaredCodes reads the constants out of codes.go, so that a new code cannot be forgotten elsewhere.
func declaredCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			code, _ := strconv.Unquote(lit.Value)
			codes = append(codes, code)
		}
		return true
	})
	if len(codes) < 20 {
		t.Fatalf("only %d codes found", len(codes))
	}
	return codes
}
