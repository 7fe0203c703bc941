/** Loaded first into each process of the bench: makes it exit, and write its profile, when the bench ends or dies. */
process.once('disconnect', () => process.exit());
