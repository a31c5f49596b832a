// Package completion writes scripts that complete a command line in bash, zsh and fish, from a tree of its commands.
//
// All three scripts work alike: the words in front of the cursor are followed down the tree as far as they name commands; then the word in front of
// the cursor says whether a flag's value is wanted; then what can stand there is offered: flags behind a dash, else commands, else files where the
// command takes some. The tree is written into the script, so that completing starts no process and needs no network.
package completion
