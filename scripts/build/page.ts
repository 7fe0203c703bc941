import { cp, mkdir, writeFile } from 'node:fs/promises';
import { build, type Metafile } from 'esbuild';
import { root } from './bundle.ts';
import { thirdPartyNotices } from './notices.ts';

/**
 * Bundles the page into `<outDir>/ui`: `app.js` and `app.css` are the first view, what other views need beside them is
 * in `chunks/`, loaded when they are opened. The licences of what is in it lie beside.
 * Returns what went into which file.
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
    entryPoints: { app: 'ui/app.css' },
    bundle: true,
    minify: true,
    target: ['chrome123', 'firefox120', 'safari17.5'],
    outdir: out,
    logLevel: 'warning',
  });
  await cp(`${root}/ui/index.html`, `${out}/index.html`);
  await writeFile(`${out}/THIRD-PARTY-NOTICES.txt`, await thirdPartyNotices(metafile));
  return metafile;
}
