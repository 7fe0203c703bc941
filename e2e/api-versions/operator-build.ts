import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { bundle } from '../../scripts/build/bundle.ts';
import { repository } from '../install/tools.ts';

/** Replaces the product's empty list of converters by those of a second API version, which exists only in tests. */
const secondVersion: Plugin = {
  name: 'second-version',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/controllers\/admission\/conversions\.ts$/ }, () => ({
      contents: `export { converters as conversions } from './e2e/api-versions/converters.ts';`,
      resolveDir: repository,
      loader: 'ts',
    }));
  },
};

/** Builds the product with the second version into an empty folder, laid out as in the image; returns its program. */
export async function buildOperator(dir: string): Promise<string> {
  await copyFile(join(repository, 'package.json'), join(dir, 'package.json'));
  await bundle('svc', { outDir: join(dir, 'dist'), plugins: [secondVersion] });
  return join(dir, 'dist/svc/svc.js');
}
