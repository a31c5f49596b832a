// Package usage adds up what queues have spent, from the states of their batches, by day, model and window. It is pure.
//
// What a batch used is exact and known once it has ended: tokens by its results, money by the price table that the collector had, and what the
// provider said that it billed. A batch that runs has an estimate at most: what is reserved for it where a limit is set. Money saved is what the
// same tokens cost outside of batches by a table's realtime prices, less what they cost; it is left out where either price is not known.
//
// A batch belongs to the day (UTC) on which it was reserved, else submitted.
package usage
