package app

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

// ErrHelp is returned when the command line asked for help, which has been printed: the program is done, with exit code 0.
var ErrHelp = errors.New("help was shown")

// helpShown unwinds the flag library, which means to end the process after printing help.
type helpShown struct{}

// maxFaults bounds how many faults of the command line are told at once.
const maxFaults = 20

// ParseFlags parses the command line of env into a struct of flags and commands. Every flag has an environment variable: BATCHBUS_ and
// its name in capitals. More are options of the flag library, such as the values of its variables. It never ends the process: help is
// [ErrHelp], anything else wrong is an error for people. All values that are wrong are in it, one a line; when nothing else is, parsed is what
// the rest says, so that the caller can look for more.
func ParseFlags(env Env, name, description string, into any, more ...kong.Option) (parsed *kong.Context, err error) {
	var faults []error
	for range maxFaults {
		parsed, err = parseOnce(env, name, description, into, more)
		if err == nil || errors.Is(err, ErrHelp) {
			break
		}
		faults = append(faults, err)
		flag := wrongValue(err)
		if flag == "" {
			break
		}
		env = without(env, flag)
	}
	if len(faults) == 0 {
		return parsed, err
	}
	return parsed, fmt.Errorf("%w (%s --help lists what there is)", errors.Join(faults...), name)
}

// wrongValue is the flag whose value an error of the flag library is about; empty when it is about something else.
func wrongValue(err error) string {
	text := err.Error()
	if !strings.HasPrefix(text, "--") {
		return ""
	}
	return text[:len("--")+strings.IndexFunc(text[len("--"):]+" ", func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })]
}

// without is env as if the flag, which had a value, had not been given.
func without(env Env, flag string) Env {
	var args []string
	for i := 0; i < len(env.Args); i++ {
		switch {
		case env.Args[i] == flag:
			i++ // and its value
		case !strings.HasPrefix(env.Args[i], flag+"="):
			args = append(args, env.Args[i])
		}
	}
	variable, lookup := variableOf(strings.TrimPrefix(flag, "--")), env.Lookup
	env.Args = args
	env.Lookup = func(name string) (string, bool) {
		if name == variable {
			return "", false
		}
		return lookup(name)
	}
	return env
}

// variableOf is the environment variable of a flag.
func variableOf(flag string) string {
	return "BATCHBUS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// withVariable is the help of a flag with its variable. The flag library's own way to have variables would also read them from the process's
// environment, past the one that was passed in.
func withVariable(value *kong.Value) string {
	if value.Flag == nil || value.Flag.Name == "help" {
		return value.Help
	}
	return fmt.Sprintf("%s ($%s).", strings.TrimSuffix(value.Help, "."), variableOf(value.Flag.Name))
}

func parseOnce(env Env, name, description string, into any, more []kong.Option) (parsed *kong.Context, err error) {
	defer func() {
		switch request := recover().(type) {
		case nil:
		case helpShown:
			err = ErrHelp
		default:
			panic(request)
		}
	}()
	options := append([]kong.Option{
		kong.Name(name), kong.Description(description), kong.ValueFormatter(withVariable),
		kong.Writers(env.Stdout, env.Stderr), kong.Exit(func(int) { panic(helpShown{}) }), kong.Resolvers(twins(env)),
	}, more...)
	parser, err := kong.New(into, options...)
	if err != nil {
		return nil, fmt.Errorf("define flags: %w", err)
	}
	if parsed, err = parser.Parse(env.Args); err != nil {
		return nil, err //nolint:wrapcheck // the caller adds what helps
	}
	return parsed, nil
}

// twins gives a flag the value of its variable in env, which the flag library would look for in the process's own environment alone.
func twins(env Env) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if value, ok := env.Lookup(variableOf(flag.Name)); ok {
			return value, nil
		}
		return nil, nil //nolint:nilnil // the library's way to say that there is no value
	})
}
