/** True when a host matches a glob of an allow list, in which `*` stands for any text. Case-insensitive. */
export function hostMatches(glob: string, host: string): boolean {
  const parts = glob
    .toLowerCase()
    .split(/([*?])/)
    .map((part) => (part === '*' ? '.*' : part === '?' ? '.' : part.replace(/[.+^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${parts.join('')}$`, 's').test(host.toLowerCase());
}

/** The host of a URL, without brackets around an IPv6 address; null for a text that is not a URL. */
export function hostOf(endpoint: string): string | null {
  if (!URL.canParse(endpoint)) return null;
  return new URL(endpoint).hostname.replace(/^\[(.*)\]$/, '$1');
}
