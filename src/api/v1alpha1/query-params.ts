/**
 * URL query parameters. Their values are redacted unless a policy lets them through. Case does not count.
 * The instrument (v0.10 and later) redacts most of them itself, in the spelling of this list only. The agent redacts
 * all of them, so that a name that the instrument has to let through for one namespace is redacted in the others.
 * Source: `DefaultSensitiveQueryParams` of the instrument, up to `tax_id`.
 */
export const builtinQueryParams: readonly string[] = [
  ...['X-Amz-Signature', 'X-Amz-Credential', 'X-Amz-Security-Token', 'AWSAccessKeyId', 'Signature', 'SecurityToken'],
  ...['X-Goog-Signature', 'sig', 'token', 'access_token', 'refresh_token', 'id_token', 'jwt', 'session', 'sid'],
  ...['signature', 'api_key', 'apikey', 'client_secret', 'secret', 'password', 'pass', 'pwd', 'reset_token'],
  ...['invite_token', 'verify_token', 'otp', 'totp', 'mfa_code', 'verification_code', 'SAMLResponse', 'assertion'],
  ...['card', 'cc', 'pan', 'cvv', 'ssn', 'tax_id'],
  ...['auth', 'authorization', 'code', 'key', 'passwd'],
];
