// Package failpoint ends a process at a chosen point, so that a test can look at what survives.
//
// A point is one kind of outside effect of one service: a publish, a compare-and-set, an ack, a call of the provider. It has two moments:
// before, when nothing was done yet, and after, when the service knows the effect's outcome and has not acted on it. What lies between two
// effects changes nothing outside, so a crash anywhere else is the same as a crash at one of these moments.
//
// The points are not written into the services. Every effect on the bus goes through [jetstore.Store] and every call of the provider
// through an [http.RoundTripper]; both tell a [Registry], which derives the point's name:
//
//	internal/collector ──► jetstore.Store ──probe──► Registry ──► Passage{"collector.commit.cursor", After} ──► Trap
//	                  └──► doubleword.Client ──transport──┘
//
// So an effect cannot be without a point. [Table] lists the points and says of each what stands after a crash there and who repairs it; a
// passage that the table does not have ends an armed process with [ExitUnknown], and test/chaos fails when a point of the table is never passed.
//
// Programs built without the build tag failpoint have no registry and cannot be armed (internal/app).
package failpoint
