/** Loaded first into every process of the bench. It exits when the bench ends or dies, and then writes its profile. */
process.once('disconnect', () => process.exit());
