import type { Converters } from '../../net/webhook/conversion.ts';

/**
 * Converters between the versions of our kinds. There are none, because every kind has one version. The steps for a
 * second version are in docs/guides/api-versions.md; `e2e/api-versions` follows them with a version made for the test.
 */
export const conversions: Converters = {};
