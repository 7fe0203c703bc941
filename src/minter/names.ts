/**
 * The names a request or a setting may carry, checked before any use: in a path, a header, a log or a comparison.
 * Source: the hosting platform's own rules for organisations and repositories.
 */

import { keyVersionPattern } from '../api/v1alpha1/key-version.ts';

export { foldName, isRepositoryName } from '../api/v1alpha1/repository-name.ts';

/** One account name: letters, digits and inner hyphens, at most 39 characters. */
const organization = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?$/;
const scope = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const permission = /^[a-z][a-z_]{0,63}$/;
const keyVersion = new RegExp(keyVersionPattern);

export const isOrganizationName = (text: string): boolean => organization.test(text);
export const isScopeName = (text: string): boolean => scope.test(text);
export const isPermissionName = (text: string): boolean => permission.test(text);
/** The name of a version of a key, never of the key: signing must not move to another version unasked. */
export const isKeyVersionName = (text: string): boolean => keyVersion.test(text);
