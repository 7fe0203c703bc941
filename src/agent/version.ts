import { readFileSync } from 'node:fs';

/** The product's version, as package.json has it beside the sources and beside the built files. */
export function productVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
