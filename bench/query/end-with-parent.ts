/** Loaded first into every process of the bench. The process ends, with its profile, when the bench leaves or dies. */
process.once('disconnect', () => process.exit());
