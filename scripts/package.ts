/** `npm run package`: the npm package as a folder, dist/package. `make release` makes its archive. */
import { join } from 'node:path';
import { root } from './build/bundle.ts';
import { makePackage } from './package/make.ts';

await makePackage(join(root, 'dist/package'));
