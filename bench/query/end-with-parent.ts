/** Loaded first into every part of the bench: it ends, and writes its profile, when the bench disconnects or dies. */
process.once('disconnect', () => process.exit());
