/** `npm run package`: writes the npm package into the folder dist/package. `make release` archives it. */
import { join } from 'node:path';
import { root } from './build/bundle.ts';
import { makePackage } from './package/make.ts';

await makePackage(join(root, 'dist/package'));
