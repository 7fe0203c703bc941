/**
 * Builds into dist/ the programs that images, the demo and the e2e tests run: a bundle of each program with its
 * licences and its bill of materials, and the query page. Takes about two seconds. `--development` keeps code that
 * production must not have.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, programs, root, type Program } from './bundle.ts';
import { buildIdentity } from './identity.ts';
import { thirdPartyNotices } from './notices.ts';
import { buildPage } from './page.ts';
import { sbomOf } from './sbom.ts';

const { values: flags } = parseArgs({ options: { development: { type: 'boolean', default: false } } });
// esbuild's process, which starts with the first build, is a Go program: by Go's default it spends a fifth of its
// processor time on collecting garbage.
process.env['GOGC'] ??= '400';
const outDir = join(root, 'dist');
const identity = buildIdentity();
await rm(outDir, { recursive: true, force: true });
const page = buildPage(outDir);
await Promise.all([
  page,
  ...(Object.keys(programs) as Program[]).map(async (program) => {
    const metafile = await bundle(program, { outDir, development: flags.development, identity });
    // The query server serves the page, so its bill of materials covers the page too.
    const parts = program === 'svc' ? [metafile, await page] : [metafile];
    const sbom = await sbomOf(program, parts, identity);
    await writeFile(`${outDir}/${program}/sbom.cdx.json`, `${JSON.stringify(sbom, null, 2)}\n`);
    await writeFile(`${outDir}/${program}/THIRD-PARTY-NOTICES.txt`, await thirdPartyNotices(metafile));
  }),
]);
