import type { Converters } from '../../net/webhook/conversion.ts';

/**
 * Between the versions of our kinds. Every kind has one version, so there are none; docs/guides/api-versions.md has the
 * steps of a second one, which `e2e/api-versions` takes with a version of its own.
 */
export const conversions: Converters = {};
