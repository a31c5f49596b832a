package contract_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"

	"github.com/batchbus/batchbus/internal/app"
)

// composition is what is looked at of compose.yaml.
type composition struct {
	Services map[string]composed `yaml:"services"`
	Volumes  map[string]any      `yaml:"volumes"`
}

type composed struct {
	Image       string                `yaml:"image"`
	Command     []string              `yaml:"command"`
	Environment map[string]string     `yaml:"environment"`
	Profiles    []string              `yaml:"profiles"`
	Volumes     []string              `yaml:"volumes"`
	DependsOn   map[string]dependence `yaml:"depends_on"` //nolint:tagliatelle // compose's own word
	Deploy      struct {
		Replicas int `yaml:"replicas"`
	} `yaml:"deploy"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

type dependence struct {
	Condition string `yaml:"condition"`
	Required  *bool  `yaml:"required"`
}

func compose(t *testing.T) composition {
	t.Helper()
	var c composition
	if err := yaml.Unmarshal([]byte(file(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// file is a file of the repository.
func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ours are the services that run programs of this repository.
func (c composition) ours() map[string]composed {
	ours := maps.Clone(c.Services)
	maps.DeleteFunc(ours, func(_ string, s composed) bool { return !strings.HasPrefix(s.Image, "batchbus:") })
	return ours
}

// helpOf is what a program of this repository prints for --help.
func helpOf(t *testing.T, program string, command ...string) string {
	t.Helper()
	if slices.Contains(app.Names(), program) {
		return strings.Join(help(t, program), "\n")
	}
	args := append([]string{"run", "../../cmd/" + program}, command...)
	text, err := exec.CommandContext(t.Context(), "go", append(args, "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s --help: %v\n%s", program, err, text)
	}
	return string(text)
}

func TestWhatComposeRunsAndSetsIsThere(t *testing.T) {
	t.Parallel()
	ours := compose(t).ours()
	for name, s := range ours {
		program := strings.TrimPrefix(s.Command[0], "/")
		if info, err := os.Stat(filepath.Join("../../cmd", program)); err != nil || !info.IsDir() {
			t.Errorf("%s runs %s, which no folder in cmd builds", name, s.Command[0])
			continue
		}
		text := helpOf(t, program, s.Command[1:]...)
		for variable := range s.Environment {
			if strings.HasPrefix(variable, "BATCHBUS_") && !strings.Contains(text, "($"+variable+")") {
				t.Errorf("%s sets %s, which %s does not know", name, variable, program)
			}
		}
		if test := s.Healthcheck.Test; len(test) > 0 && (test[1] != s.Command[0] || test[2] != "--health" || !strings.Contains(text, "--health")) {
			t.Errorf("%s runs %s and is asked by %v", name, s.Command[0], test)
		}
	}
	for _, name := range app.Names() {
		if s := ours[name]; s.Deploy.Replicas != 2 || len(s.Healthcheck.Test) == 0 || s.Environment["BATCHBUS_REPLICAS"] != "3" {
			t.Errorf("%s: %d replicas, health check %v, streams of %s", name, s.Deploy.Replicas, s.Healthcheck.Test, s.Environment["BATCHBUS_REPLICAS"])
		}
	}
	if s := ours["simulator"]; !slices.Equal(s.Profiles, []string{"simulated"}) {
		t.Errorf("the simulator's profiles are %v", s.Profiles)
	}
}

// interpolated puts the defaults in the place of compose's variables, and values of its own where there is none.
func interpolated(text string) string {
	return regexp.MustCompile(`\$\{\w+(:[-?][^}]*)?\}`).ReplaceAllStringFunc(text, func(variable string) string {
		if _, value, found := strings.Cut(strings.TrimSuffix(variable, "}"), ":-"); found {
			return value
		}
		return "something"
	})
}

func TestTheServicesTakeTheSettingsOfCompose(t *testing.T) {
	t.Parallel()
	for _, name := range app.Names() {
		settings := compose(t).Services[name].Environment
		env := func(variable string) (string, bool) {
			value, set := settings[variable]
			return interpolated(value), set
		}
		var out strings.Builder
		code := app.Main(t.Context(), app.Env{Args: []string{"--health", "--admin=127.0.0.1:1"}, Lookup: env, Stdout: &out, Stderr: &out}, name)
		if code != app.ExitRows || !strings.Contains(out.String(), "not ready") {
			t.Errorf("%s: exit code %d, %s: want no fault but that nobody is there", name, code, out.String())
		}
		if strings.Contains(settings["DOUBLEWORD_API_KEY"], ":-") {
			t.Error("an API key has a default")
		}
	}
}

func TestEveryNodeOfComposeIsOneOfTheCluster(t *testing.T) {
	c := compose(t)
	t.Setenv("NODE", "nats-1")
	options, err := server.ProcessConfigFile("../../deploy/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, route := range options.Routes {
		node := route.Hostname()
		nodes = append(nodes, node)
		if s := c.Services[node]; s.Environment["NODE"] != node || !slices.Contains(s.Volumes, node+":/data") || !slices.Contains(s.Command, "/data") {
			t.Errorf("node %s: %+v", node, s)
		}
	}
	for name, s := range c.ours() {
		if urls := s.Environment["BATCHBUS_NATS"]; name != "simulator" && urls != "nats://"+strings.Join(nodes, ":4222,nats://")+":4222" {
			t.Errorf("%s connects to %s", name, urls)
		}
		store, err := strconv.ParseInt(s.Environment["BATCHBUS_MAX_STORE"], 10, 64)
		if name != "simulator" && (err != nil || store >= options.JetStreamMaxStore) {
			t.Errorf("%s hands out %d bytes of %d: %v", name, store, options.JetStreamMaxStore, err)
		}
	}
	if len(nodes) != 3 || options.MaxPayload != 8<<20 || options.Port != 4222 || options.HTTPPort != 8222 {
		t.Errorf("nodes %v, max_payload %d, ports %d and %d", nodes, options.MaxPayload, options.Port, options.HTTPPort)
	}
}

func TestComposeRefersToNothingThatIsNotThere(t *testing.T) {
	t.Parallel()
	c := compose(t)
	for name, s := range c.Services {
		for on, how := range s.DependsOn {
			other, there := c.Services[on]
			if !there || how.Condition == "service_healthy" && len(other.Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s to be %s", name, on, how.Condition)
			}
			if len(other.Profiles) > 0 && (how.Required == nil || *how.Required) {
				t.Errorf("%s cannot start without %s, which a profile leaves out", name, on)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, named := c.Volumes[source]; !named {
				file(t, source)
			}
		}
		if image, tag, _ := strings.Cut(s.Image, ":"); image == "" || tag == "" || tag == "latest" {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
	}
	source := file(t, "compose.yaml")
	for line := range strings.Lines(file(t, "deploy/simulated.env")) {
		variable, _, set := strings.Cut(line, "=")
		if set && !strings.HasPrefix(line, "#") && variable != "COMPOSE_PROFILES" && !strings.Contains(source, "${"+variable+":") {
			t.Errorf("deploy/simulated.env sets %s, which compose.yaml does not read", variable)
		}
	}
}

func TestImagesAreOfTheVersionsThatAreTested(t *testing.T) {
	t.Parallel()
	module := file(t, "go.mod")
	tested := regexp.MustCompile(`nats-server/v2 v(\S+)`).FindStringSubmatch(module)
	if tested == nil || compose(t).Services["nats-1"].Image != "nats:"+tested[1]+"-alpine" {
		t.Errorf("go.mod tests with nats-server %v, compose.yaml runs %s", tested, compose(t).Services["nats-1"].Image)
	}
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(module)
	if language == nil || !strings.Contains(file(t, "Dockerfile"), "FROM golang:"+language[1]+".") {
		t.Errorf("go.mod wants Go %v, the Dockerfile builds with another", language)
	}
}

func TestTheImageHoldsStaticProgramsForAUserWithoutRights(t *testing.T) {
	t.Parallel()
	recipe := file(t, "Dockerfile")
	_, final, _ := strings.Cut(recipe, "FROM scratch\n")
	for _, line := range []string{"USER 65532:65532", "/etc/ssl/certs/ca-certificates.crt", "/out/bin/ /"} {
		if !strings.Contains(final, line) {
			t.Errorf("the image's last stage has no %q", line)
		}
	}
	if strings.Contains(final, "\nRUN") {
		t.Error("the last stage runs something: it has no shell")
	}
	build := regexp.MustCompile(`CGO_ENABLED=0 go build ([^&]*?) -o /out/bin/ ./cmd/\.\.\.`).FindStringSubmatch(recipe)
	if build == nil {
		t.Fatal("the Dockerfile does not build all programs without cgo")
	}
	for name, s := range compose(t).ours() {
		for _, volume := range s.Volumes {
			_, target, _ := strings.Cut(volume, ":")
			target, _, _ = strings.Cut(target, ":")
			if !strings.Contains(final, "--chown=65532:65532 /out"+target+" "+target+"\n") {
				t.Errorf("%s mounts %s, which the image's user does not own", name, target)
			}
		}
	}
}
