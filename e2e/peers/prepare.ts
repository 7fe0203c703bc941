/**
 * Builds every real peer (a program of another project) that is not cached. A peer that cannot be built is named, and
 * its tests are skipped.
 */
import { findPeer, peerNames } from './programs.ts';

for (const name of peerNames) {
  try {
    await findPeer(name);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
  }
}
