/** Loaded first into every part of the bench: it ends, and writes its profile, when the bench lets go of it or is gone. */
process.once('disconnect', () => process.exit());
