import { portPattern } from '../../base/text/address-patterns.ts';

/**
 * The address of a service that the pods of a minter call: http or https, a host, perhaps a port and a path. Neither user
 * nor query: many people can read an object or a setting, and credentials belong in Secrets. The API server and the pods
 * both read it with this pattern, which RE2 knows as well.
 * Caveats: some hosts of this form are none, such as `1.2.3.400`; only the pods refuse them.
 */
export const serviceUrlPattern = `^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:0{0,4}${portPattern})?(/[^?#\\s\\\\]*)?$`;

/** The same in words, for messages. */
export const serviceUrlForm = 'a host, perhaps a port and a path, but no user, query or fragment';
