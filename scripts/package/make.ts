import { chmod, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { root } from '../build/bundle.ts';
import { emitTypes, entries, entryNames, packagesMentioned, typesOf, type Entry } from './types.ts';

/** Path, inside the package, of the program that `npx svc-operator` runs. */
const program = 'bin/svc-operator.js';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * Fills a folder with the npm package: our code as ES modules with shared chunks, types, the template of
 * `svc-operator init`, and its own manifest and README. Third-party packages stay dependencies, in the exact versions
 * of the checkout, so that audits see them and a program has one copy of each.
 * Errors: throws if the code loads a package that is not a dependency of the checkout.
 */
export async function makePackage(out: string, types: ReadonlyMap<string, string> = emitTypes()): Promise<void> {
  await rm(out, { recursive: true, force: true });
  const loaded = await bundleCode(out);
  for (const [path, text] of types) {
    const file = join(out, 'types', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  await chmod(join(out, program), 0o755);
  const own = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  const needed = [...new Set([...loaded, ...packagesMentioned(types)])].toSorted();
  await writeFile(join(out, 'package.json'), `${JSON.stringify(manifestOf(own, needed), undefined, 2)}\n`);
  await copyFile(join(root, 'LICENSE'), join(out, 'LICENSE'));
  await copyFile(join(root, 'src/package/README.md'), join(out, 'README.md'));
  await cp(join(root, 'examples/greeter'), join(out, 'template'), { recursive: true });
}

/** Writes the code, and returns the packages that it loads. */
async function bundleCode(out: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { ...entries, [program.replace(/\.js$/, '')]: 'src/package/bin.ts' },
    outdir: out,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    target: 'node24',
    format: 'esm',
    metafile: true,
    logLevel: 'warning',
  });
  return packagesLoaded(metafile);
}

/** Packages that are imported, and those that a `require` of `createRequire` loads late, which esbuild does not see. */
async function packagesLoaded({ inputs, outputs }: Metafile): Promise<string[]> {
  const imported = Object.values(outputs).flatMap(({ imports }) => imports.flatMap((i) => (i.external ? i.path : [])));
  const texts = await Promise.all(Object.keys(inputs).map((path) => readFile(join(root, path), 'utf8')));
  const required = texts.flatMap((text) => [...text.matchAll(/\brequire\('([^'.][^']*)'\)/g)].map(([, path]) => path!));
  return [...imported, ...required]
    .filter((path) => !isBuiltin(path))
    .map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)![0]);
}

function manifestOf(own: Manifest, needed: readonly string[]): object {
  const dependencies = needed.map((name) => {
    const version = own.dependencies[name];
    if (version === undefined)
      throw new Error(`${name}: the package loads it, and package.json has no such dependency`);
    return [name, version] as const;
  });
  const exported = (entry: Entry): object => ({ types: `./types/${typesOf(entry)}`, default: `./${entry}.js` });
  return {
    name: own.name,
    version: own.version,
    description: 'A reconcile framework for Kubernetes operators with its test kit, PromQL and a time-series store',
    license: own.license,
    type: 'module',
    sideEffects: false,
    engines: own.engines,
    // Versions that `init` writes into a new project.
    template: { typescript: own.devDependencies['typescript'], nodeTypes: own.devDependencies['@types/node'] },
    bin: { [own.name]: `./${program}` },
    exports: Object.fromEntries(entryNames.map((entry) => [`./${entry}`, exported(entry)])),
    dependencies: Object.fromEntries(dependencies),
    // Declarations mention node:http and node:stream. Programs without TypeScript do not need their types.
    peerDependencies: { '@types/node': '>=24' },
    peerDependenciesMeta: { '@types/node': { optional: true } },
  };
}
