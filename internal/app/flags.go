package app

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"
)

// ErrHelp is returned when the command line asked for help, which has been printed: the program is done, with exit code 0.
var ErrHelp = errors.New("help was shown")

// helpShown unwinds the flag library, which means to end the process after printing help.
type helpShown struct{}

// ParseFlags parses the command line of env into a struct of flags and commands. Every flag has an environment variable: BATCHBUS_ and
// its name in capitals. More are options of the flag library, such as the values of its variables. It never ends the process: help is [ErrHelp], anything else wrong is an error for people.
func ParseFlags(env Env, name, description string, into any, more ...kong.Option) (parsed *kong.Context, err error) {
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
		kong.Name(name), kong.Description(description), kong.DefaultEnvars("BATCHBUS"),
		kong.Writers(env.Stdout, env.Stderr), kong.Exit(func(int) { panic(helpShown{}) }), kong.Resolvers(twins(env)),
	}, more...)
	parser, err := kong.New(into, options...)
	if err != nil {
		return nil, fmt.Errorf("define flags: %w", err)
	}
	parsed, err = parser.Parse(env.Args)
	if err != nil {
		return nil, fmt.Errorf("%w (%s --help lists what there is)", err, name)
	}
	return parsed, nil
}

// twins gives a flag the value of its variable in env, which the flag library would look for in the process's own environment alone.
func twins(env Env) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if value, ok := env.Lookup(name); ok {
				return value, nil
			}
		}
		return nil, nil //nolint:nilnil // the library's way to say that there is no value
	})
}
