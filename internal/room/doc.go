// Package room tells whether there is room for new jobs. Above 80 % of BATCHBUS_ROWS there is none: what is left is for the rows of the open
// ones (design.md 5.2). Whoever opens jobs asks first: ingest, and the control API.
package room
