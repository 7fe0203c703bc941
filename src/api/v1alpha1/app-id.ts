/** What an App ID has to be, for messages. */
export const appIdForm = `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;

/**
 * The App ID in a Secret or a setting; undefined if it is none. White space around it does not count, as the final
 * newline of a file. The operator and the pods of a minter both read it with this function, so they agree on it.
 */
export function parseAppId(text: string): number | undefined {
  const digits = text.trim();
  const id = /^\d{1,16}$/.test(digits) ? Number(digits) : 0;
  return id > 0 && Number.isSafeInteger(id) ? id : undefined;
}
