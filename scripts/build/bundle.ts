import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildIdentity } from './identity.ts';
import { lightHttp } from './light-http.ts';
import { build, type BuildOptions, type BuildResult, type Metafile, type Plugin } from 'esbuild';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The programs that are shipped, each with its entry points. `<out>/<program>/<entry>.js` is what runs. */
export const programs = {
  svc: { svc: 'src/bin/svc.ts' },
  minter: { minter: 'src/bin/minter.ts' },
  'kubectl-svc': { 'kubectl-svc': 'src/bin/kubectl-svc.ts', 'kubectl-complete-svc': 'src/bin/kubectl-complete-svc.ts' },
} as const;
export type Program = keyof typeof programs;

/** The script that `svc agent init-config` copies out of the image: a single file without chunks. */
const alone = { supervise: 'src/agent/supervisor/supervise.ts' };

export interface BundleOptions {
  /** Absolute path; `<outDir>/<program>` is replaced. */
  readonly outDir: string;
  /** Keeps code that production must not have: the minter's signing with a key file. Default false. */
  readonly development?: boolean;
  /** What `--version` prints beside the version. Default: unknown. */
  readonly identity?: BuildIdentity;
  /** Plugins of a test build, which replace sources. */
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
  // Code is ASCII. Licence comments contain other characters, so they go to separate files: one such character makes V8
  // store a source at two bytes a character.
  charset: 'ascii',
  legalComments: 'external',
  logLevel: 'warning',
} satisfies BuildOptions;

/** CommonJS dependencies load built-in modules by `require`, and some read `__dirname`. */
const banner = {
  js: [
    "import{createRequire as $createRequire}from'node:module';",
    'const require=$createRequire(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;',
  ].join(''),
};

/** Bundles a source and its dependencies into one file, for an image that a test builds. `outfile` is absolute. */
export async function bundleFile(source: string, outfile: string): Promise<void> {
  await build({
    ...common,
    sourcemap: false,
    entryPoints: [source],
    outfile,
    banner,
    plugins: [lightDotI, lightHttp, ownRequire],
  });
}

/**
 * Bundles a program and its dependencies into a self-contained module graph, split so that a command loads only the
 * code that it runs. Source maps lie beside the code. Returns the metafile, which names the inputs.
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
    plugins: [
      ...plugins,
      lightDotI,
      lateClientNode,
      lightGax,
      lightHttp,
      ownRequire,
      ...(development ? [] : [withoutFileKeys]),
    ],
  });
  if (program === 'svc') {
    await build({ ...common, entryPoints: alone, outdir, plugins: [lightHttp] });
  }
  if (program === 'minter') return metafile;
  const { inputs, outputs } = await addClientNode(outDir, outdir);
  return { inputs: { ...metafile.inputs, ...inputs }, outputs: { ...metafile.outputs, ...outputs } };
}

/**
 * Some sources create their own `require` to load a package late. This plugin removes the line that creates it.
 * Then esbuild treats their calls of `require` as CommonJS: the package is in the bundle, but runs only on demand.
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
 * Keeps client-node in a separate file that is read on first use. Its five megabytes would otherwise be in the memory
 * of every process that connects to a cluster.
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
/** Bundles of client-node, one for each output folder: their source maps name sources relative to that folder. */
const clientNodes = new Map<string, Promise<ClientNode>>();

/** Two programs need client-node. It is bundled once: bundling it takes as long as the rest of the smaller program. */
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

/**
 * Gives the base class of @dot-i/k8s-operator our stand-in for client-node, as `src/kube/load-dot-i.ts` does outside of
 * bundles.
 */
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
 * Drops the message classes of two services that the key service's client exports but never calls. They would be a
 * tenth of the minter's code.
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
