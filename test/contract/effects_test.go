package contract_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rawEffects are the calls of nats.go and net/http that change something outside, and the way to them. Whoever makes one past
// [jetstore.Store] or [doubleword.Client] has no failpoint.
func rawEffects() []string {
	return []string{
		"PublishMsg", "PublishMsgAsync", "PublishAsync", "PublishMsgBatch", "PublishRequest", "RequestMsg", "RequestMsgWithContext",
		"DeleteMsg", "SecureDeleteMsg", "DoubleAck", "NakWithDelay", "TermWithReason", "RoundTrip",
		"CreateStream", "UpdateStream", "DeleteStream", "CreateConsumer", "DeleteConsumer",
	}
}

// callers are the functions below a folder that make one of the calls: "file.go:function call".
func callers(t *testing.T, root string, calls []string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "jetstoretest") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(calls, s.Sel.Name) {
					found[filepath.Base(path)+":"+f.Name.Name+" "+s.Sel.Name] = true
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNoServiceReachesTheBusOrTheProviderPastItsFailpoints(t *testing.T) {
	t.Parallel()
	known := map[string]bool{ // and why they have no effect
		"room.go:rowsSize JetStream": true, // reads a stream's size
		"service.go:Run JetStream":   true, // the control API answers over the connection: whoever asked and hears nothing asks again
	}
	for _, service := range []string{"ingest", "submitter", "poller", "collector", "keep", "api", "jobs", "manifest", "messages", "block", "room", "gateway"} {
		for caller := range callers(t, filepath.Join("../../internal", service), append(rawEffects(), "JetStream")) {
			if !known[caller] {
				t.Errorf("internal/%s: %s has no failpoint", service, caller)
			}
		}
	}
}

func TestTheStoreTellsItsProbeOfEveryEffect(t *testing.T) {
	t.Parallel()
	// Each of these runs below a call of the probe, which pkg/jetstore's TestAProbeHears… watches. What makes or checks the topology is no
	// effect of a service, and a request of the reader asks for messages.
	probed := []string{
		"commit.go:try PublishMsg", "commit.go:try PublishMsgBatch", "delivery.go:AckSync DoubleAck", "delivery.go:Nak NakWithDelay",
		"leftover.go:Ack DoubleAck", "leftover.go:DoubleAck DeleteMsg", "publish.go:publishOnce PublishMsg", "window.go:send PublishMsgAsync",
	}
	for caller := range callers(t, "../../pkg/jetstore", rawEffects()) {
		if !slices.Contains(probed, caller) && !strings.HasPrefix(caller, "setup.go:") && caller != "read.go:request PublishRequest" {
			t.Errorf("pkg/jetstore: nobody has looked whether %s tells the probe", caller)
		}
	}
	found := slices.Collect(maps.Keys(callers(t, "../../pkg/jetstore", rawEffects())))
	for _, caller := range probed {
		if !slices.Contains(found, caller) {
			t.Errorf("pkg/jetstore: %s is not there any more", caller)
		}
	}
}
