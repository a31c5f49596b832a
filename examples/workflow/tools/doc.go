// Package tools holds the functions that a model may have called, and calls them so that nothing a model writes can do harm: an unknown name,
// arguments of the wrong shape, a function that fails, panics, is slow or says too much all become a short text for the model to read.
//
// The functions only read. That is what lets the workflow run one again when the program was killed before it had stored what came out.
package tools
