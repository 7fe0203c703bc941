import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { build, type Metafile } from 'esbuild';
import { root } from './bundle.ts';
import { thirdPartyNotices } from './notices.ts';

/**
 * Bundles the query server's page into `<outDir>/ui`. The first view consists of `early.js`, `app.js`, `app.css` and
 * their static imports. Other views need more files of `chunks/`, which the browser loads when a view is opened. The
 * licences of the page's packages are in the same folder. Returns the metafile of `app.js`.
 */
export async function buildPage(outDir: string): Promise<Metafile> {
  const out = `${outDir}/ui`;
  await mkdir(out, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { app: 'ui/app.tsx' },
    bundle: true,
    minify: true,
    splitting: true,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    chunkNames: 'chunks/[name]-[hash]',
    outdir: out,
    logLevel: 'warning',
  });
  await build({
    absWorkingDir: root,
    entryPoints: { early: 'ui/early.ts' },
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    outdir: out,
    logLevel: 'warning',
  });
  await build({
    absWorkingDir: root,
    entryPoints: { app: 'ui/app.css' },
    bundle: true,
    minify: true,
    target: ['chrome123', 'firefox120', 'safari17.5'],
    outdir: out,
    logLevel: 'warning',
  });
  const html = await readFile(`${root}/ui/index.html`, 'utf8');
  await writeFile(`${out}/index.html`, withPreloads(html, importsOf(metafile, 'app.js')));
  await writeFile(`${out}/THIRD-PARTY-NOTICES.txt`, await thirdPartyNotices(metafile));
  return metafile;
}

/** The direct and indirect static imports of the output file `name`, as paths below the page's folder. */
export function importsOf({ outputs }: Metafile, name: string): string[] {
  const pathOf = (file: string): string => file.slice(folder.length);
  const entry = Object.keys(outputs).find((file) => file.endsWith(`/ui/${name}`))!;
  const folder = entry.slice(0, -name.length);
  const found = new Set([entry]);
  for (const file of found) {
    for (const { kind, path } of outputs[file]!.imports) if (kind === 'import-statement') found.add(path);
  }
  found.delete(entry);
  return [...found].map(pathOf).sort();
}

/** The document with a preload link for each module, so that the browser need not read one module to find the next. */
export function withPreloads(html: string, modules: readonly string[]): string {
  const links = modules.map((module) => `    <link rel="modulepreload" href="${module}" />\n`).join('');
  return html.replace('  </head>', `${links}  </head>`);
}
