/** Bundles the query page into dist/ui. Takes milliseconds, so the demo and the tests simply run it. */
import { cp, mkdir } from 'node:fs/promises';
import { build } from 'esbuild';

const out = new URL('../dist/ui/', import.meta.url).pathname;
const ui = new URL('../ui/', import.meta.url).pathname;
await mkdir(out, { recursive: true });
await build({
  entryPoints: [`${ui}app.ts`, `${ui}app.css`],
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  outdir: out,
  logLevel: 'warning',
});
await cp(`${ui}index.html`, `${out}index.html`);
