import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildIdentity } from './identity.ts';
import { build, type BuildOptions, type BuildResult, type Metafile, type Plugin } from 'esbuild';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The programs that are shipped, each with its entry points. `<out>/<program>/<entry>.js` is what runs. */
export const programs = {
  svc: { svc: 'src/bin/svc.ts' },
  minter: { minter: 'src/bin/minter.ts' },
  'kubectl-svc': { 'kubectl-svc': 'src/bin/kubectl-svc.ts', 'kubectl-complete-svc': 'src/bin/kubectl-complete-svc.ts' },
} as const;
export type Program = keyof typeof programs;

/** What `svc agent init-config` copies out of the image: one file, with nothing beside it. */
const alone = { supervise: 'src/agent/supervisor/supervise.ts' };

export interface BundleOptions {
  /** Absolute path; `<outDir>/<program>` is replaced. */
  readonly outDir: string;
  /** Keeps what must not be in production: the minter's key from a file. Default false. */
  readonly development?: boolean;
  /** What `--version` prints beside the version. Default: unknown. */
  readonly identity?: BuildIdentity;
  /** Of a test build: what puts something else in the place of a source. */
  readonly plugins?: readonly Plugin[];
}

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // Names stay: a stack trace without its map is still readable.
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: true,
  sourcesContent: false,
  // Code is ASCII, and licence comments, whose names are not, lie in files of their own: V8 keeps a text with a single
  // other character at two bytes each.
  charset: 'ascii',
  legalComments: 'external',
  logLevel: 'warning',
} satisfies BuildOptions;

/** Dependencies in CommonJS ask for built-in modules by `require`, and some for the folder they lie in. */
const banner = {
  js: [
    "import{createRequire as $createRequire}from'node:module';",
    'const require=$createRequire(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;',
  ].join(''),
};

/** Makes one file of a source and its dependencies, for an image that a test builds. `outfile` is absolute. */
export async function bundleFile(source: string, outfile: string): Promise<void> {
  await build({
    ...common,
    sourcemap: false,
    entryPoints: [source],
    outfile,
    banner,
    plugins: [lightDotI, ownRequire],
  });
}

/**
 * Makes one self-contained module graph of a program: its code and that of its dependencies, split so that a command
 * loads only what it runs. Source maps lie beside the code.
 * Returns what went into it.
 */
export async function bundle(program: Program, options: BundleOptions): Promise<Metafile> {
  const { outDir, development = false, identity = { commit: 'unknown', date: 'unknown' }, plugins = [] } = options;
  const outdir = `${outDir}/${program}`;
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    ...common,
    entryPoints: programs[program],
    outdir,
    splitting: true,
    metafile: true,
    define: { SVC_BUILD_IDENTITY: JSON.stringify(identity) },
    banner,
    plugins: [...plugins, lightDotI, lateClientNode, lightGax, ownRequire, ...(development ? [] : [withoutFileKeys])],
  });
  if (program === 'svc') {
    await build({ ...common, entryPoints: alone, outdir });
  }
  if (program === 'minter') return metafile;
  const { inputs, outputs } = await addClientNode(outDir, outdir);
  return { inputs: { ...metafile.inputs, ...inputs }, outputs: { ...metafile.outputs, ...outputs } };
}

/**
 * A source that makes itself a `require` to load a package late, or a part of it, is bundled as if that were CommonJS'
 * own, so that what it loads is in the bundle and still runs only when asked for.
 */
const ownRequire: Plugin = {
  name: 'own-require',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/(?:kube|base\/wire)\/[^/]+\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace('const require = createRequire(import.meta.url);', '');
      return { contents, loader: 'ts' };
    });
  },
};

const clientNodeFile = 'client-node.cjs';

/**
 * The index of client-node is a file of its own, which is read when it is first needed: five megabytes of text, which
 * would otherwise be in the memory of every process that knows a cluster.
 */
const lateClientNode: Plugin = {
  name: 'late-client-node',
  setup({ onResolve }) {
    onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ kind, importer }) =>
      kind === 'require-call' && importer.endsWith('/src/kube/kubeconfig.ts')
        ? { path: `./${clientNodeFile}`, external: true }
        : undefined,
    );
  },
};

type ClientNode = BuildResult<{ metafile: true; write: false }>;
/** By the folder above those of the programs: maps name their sources as seen from there. */
const clientNodes = new Map<string, Promise<ClientNode>>();

/** Two programs have the same file: it is made once, as it takes as long as the rest of the smaller one. */
async function addClientNode(outDir: string, outdir: string): Promise<Metafile> {
  const made = clientNodes.get(outDir) ?? bundleClientNode(`${outDir}/client-node`);
  clientNodes.set(outDir, made);
  const { outputFiles, metafile } = await made;
  await Promise.all(outputFiles.map(({ path, contents }) => writeFile(join(outdir, basename(path)), contents)));
  return metafile;
}

/** Bundles client-node in memory: it writes nothing. */
function bundleClientNode(outdir: string): Promise<ClientNode> {
  return build({
    ...common,
    format: 'cjs',
    stdin: { contents: `module.exports = require('@kubernetes/client-node');`, resolveDir: root },
    outfile: `${outdir}/${clientNodeFile}`,
    metafile: true,
    write: false,
  });
}

/** dot-i's base class gets the stand-in for client-node that `src/kube/load-dot-i.ts` puts in place elsewhere. */
const lightDotI: Plugin = {
  name: 'light-dot-i',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ importer }) =>
      importer.includes('/@dot-i/k8s-operator/') ? { path: 'light-client-node', namespace: 'stand-in' } : undefined,
    );
    onLoad({ filter: /\/src\/kube\/load-dot-i\.ts$/ }, () => ({
      contents: `export const loadDotI = () => require('@dot-i/k8s-operator');`,
      resolveDir: `${root}/src/kube`,
    }));
    onLoad({ filter: /.*/, namespace: 'stand-in' }, () => ({
      contents: `module.exports = require('./src/kube/light-client-node.ts').lightClientNode;`,
      resolveDir: root,
    }));
  },
};

/**
 * The key service's client comes with classes for messages of two services that it never calls and only exports, which
 * would be a tenth of the minter's text.
 */
const lightGax: Plugin = {
  name: 'light-gax',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/protos\/(iam_service|locations)$/ }, ({ importer }) =>
      /\/google-gax\/build\/src\/(index|fallback)\.js$/.test(importer)
        ? { path: 'no-messages', namespace: 'no-messages' }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'no-messages' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** No production image can sign with a key that lies in a file. */
const withoutFileKeys: Plugin = {
  name: 'without-file-keys',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/minter\/sign\/file-key-service\.ts$/ }, () => ({
      contents: `
        import { OperatorError } from '../../base/errors.ts';
        export function fileKeyService() {
          throw new OperatorError('ERR_CONFIG_INVALID', 'KMS_PROVIDER=file: this build cannot sign with a key from a file; only a development build can');
        }`,
      resolveDir: `${root}/src/minter/sign`,
      loader: 'ts',
    }));
  },
};
