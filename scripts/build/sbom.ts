import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { root, type Program } from './bundle.ts';
import type { BuildIdentity } from './identity.ts';
import { manifestOf, packagesIn } from './notices.ts';

/** The members of a CycloneDX 1.6 bill of materials in JSON that are used here. */
export interface Sbom {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly version: 1;
  readonly metadata: { readonly timestamp?: string; readonly component: SbomComponent };
  readonly components: readonly SbomComponent[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export interface SbomComponent {
  readonly type: 'application' | 'library';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly ({ license: { id: string } } | { expression: string })[];
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/**
 * The bill of materials of one program: the program, and every package whose code is in one of its bundles, with
 * version, licence and the hash of its published archive from the lock file. It has no serial number, and its time is
 * that of the commit, so that the same sources give the same bytes.
 */
export async function sbomOf(
  program: Program,
  parts: readonly Pick<Metafile, 'inputs'>[],
  { commit, date }: BuildIdentity,
): Promise<Sbom> {
  const own = await manifestOf('.');
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const components = await Promise.all(
    parts.flatMap(packagesIn).map(async (folder) => {
      const manifest = await manifestOf(folder);
      const component = componentOf('library', manifest.name, manifest.version, manifest.license);
      const hash = /^sha512-(.+)$/.exec(packages[folder]?.integrity ?? '')?.[1];
      if (hash === undefined) return component;
      const content = Buffer.from(hash, 'base64').toString('hex');
      return { ...component, hashes: [{ alg: 'SHA-512' as const, content }] };
    }),
  );
  // Two folders can hold the same version of a package.
  const unique = [...new Map(components.map((component) => [component.purl, component])).values()];
  const subject = {
    ...componentOf('application', program, own.version, own.license),
    properties: [{ name: 'org.opencontainers.image.revision', value: commit }],
  };
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { ...(date === 'unknown' ? {} : { timestamp: date }), component: subject },
    components: unique,
    dependencies: [{ ref: subject['bom-ref'], dependsOn: unique.map((component) => component['bom-ref']) }],
  };
}

function componentOf(type: SbomComponent['type'], name: string, version: string, license?: string): SbomComponent {
  const [, group, bare = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const purl = `pkg:npm/${group === undefined ? '' : `${encodeURIComponent(group)}/`}${bare}@${version}`;
  const isExpression = license !== undefined && /[\s()]/.test(license);
  return {
    type,
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name: bare,
    version,
    purl,
    ...(license === undefined
      ? {}
      : { licenses: [isExpression ? { expression: license } : { license: { id: license } }] }),
  };
}
