import { matchesGlob } from './compile/select/selector.ts';

/** True when a host matches a glob of an allow list: `*` is any text, `?` one character. Case-insensitive. */
export function hostMatches(glob: string, host: string): boolean {
  return matchesGlob(glob.toLowerCase(), host.toLowerCase());
}

/** The host of a URL, without brackets around an IPv6 address; null for a text that is not a URL. */
export function hostOf(endpoint: string): string | null {
  if (!URL.canParse(endpoint)) return null;
  return new URL(endpoint).hostname.replace(/^\[(.*)\]$/, '$1');
}
