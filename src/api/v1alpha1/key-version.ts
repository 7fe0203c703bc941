/**
 * The name of one version of a key of the key service. The API server, the installer and the pods of a minter read it
 * with the same pattern, which RE2 knows as well: a name that only the API server took would end the pods.
 */

const key =
  'projects/[A-Za-z0-9:._-]+/locations/[A-Za-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}';
const version = '/cryptoKeyVersions/[1-9][0-9]{0,9}';

export const keyVersionPattern = `^${key}${version}$`;

/** A key version, or a key without its version, or nothing: what an installation can begin with. */
export const maybeKeyPattern = `^(${key}(${version})?)?$`;

/** The name of a key version in words, for messages. */
export const keyVersionForm =
  'projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/N, where L has letters, digits and -, P also : . _, R and K also _ (up to 63), N from 1, at most ten digits';
