/**
 * Builds into dist/ what images, the demo and the e2e tests run: a bundle for each program, with the licences and the
 * bill of materials of what is in it, and the query page. Takes about two seconds. `--development` keeps what
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
    // The query server serves the page, whose licences lie beside it.
    const parts = program === 'svc' ? [metafile, await page] : [metafile];
    const sbom = await sbomOf(program, parts, identity);
    await writeFile(`${outDir}/${program}/sbom.cdx.json`, `${JSON.stringify(sbom, null, 2)}\n`);
    await writeFile(`${outDir}/${program}/THIRD-PARTY-NOTICES.txt`, await thirdPartyNotices(metafile));
  }),
]);
