import boundaries from 'eslint-plugin-boundaries';
import tseslint from 'typescript-eslint';
import { testRules } from './scripts/eslint/index.js';

/**
 * Layers, top to bottom; an import never goes up (docs/adr/0002-layers.md).
 * A folder may import the rows below it, but none of the other folders in its own row.
 */
const layers = [
  ['package'],
  ['bin'],
  ['controllers', 'agent', 'query', 'minter'],
  ['render', 'capture', 'promql', 'tsdb', 'stream'],
  ['runtime', 'net'],
  ['kube'],
  ['api'],
  ['base'],
];
const element = (type) => ({ element: { type } });
const below = (row) => layers.slice(row + 1).flat();
const policies = layers.flatMap((row, i) =>
  row.map((name) => ({ from: element(name), allow: { to: element([name, ...below(i), 'page-types']) } })),
);
/**
 * The same for the page, which has four layers (docs/adr/0036-the-page.md). From src it may import the stream and the
 * types of its API. The type check of `ui` refuses the parts of the stream that need Node.
 */
const pageLayers = ['views', 'parts', 'state', 'api'].map((name) => `page-${name}`);
const pagePolicies = pageLayers.map((name, i) => ({
  from: element(name),
  allow: { to: element([...pageLayers.slice(i), 'page-types', 'stream']) },
}));

/** Every server has the limits and the last error handler of src/net/http, so no request can end the process. */
const serverRemedy =
  'make it with createHttpServer (src/net/http), createTlsServer, createApiServer, createAlpnServer or createGrpcServer (src/net): they bring the limits, refusals and counts of every listener';
const serverImports = [
  ...['http', 'https', 'http2', 'net', 'tls'].flatMap((module) =>
    [module, `node:${module}`].map((name) => ({
      name,
      importNames: ['createServer', 'createSecureServer', 'Server', 'default'],
      allowTypeImports: true,
      message: serverRemedy,
    })),
  ),
  { name: '@grpc/grpc-js', importNames: ['Server'], allowTypeImports: true, message: serverRemedy },
];
/** Stand-ins for others' servers, and tools of tests and benchmarks. Nothing but tests and benchmarks calls them. */
const standIns = [
  ...['fake-api-server', 'fake-issuer', 'fake-kms', 'fake-platform', 'instrument', 'minter-world'].map(
    (name) => `src/testing/${name}/**`,
  ),
  ...['src/testing/free-port.ts', 'src/testing/query/scripted-adapter.ts', 'src/testing/query/long-term-stand-in.ts'],
  ...['bench/promql/server.ts', 'bench/runtime/widgets.ts', 'bench/tsdb/serve.ts'],
];
/**
 * In HTTP/2, a GOAWAY refuses streams that were opened while it was on its way. Node's HTTP/2 clients do not repeat
 * these streams. HTTP/1.1 does not have the problem.
 */
const clientImports = ['http2', 'node:http2'].map((name) => ({
  name,
  importNames: ['connect'],
  message:
    'call with TlsClient or fetch, which speak HTTP/1.1: an HTTP/2 client has to repeat streams refused at a GOAWAY',
}));
const clusterImports = [
  { name: '@kubernetes/client-node', message: 'Only src/kube talks to client-node: use its ports' },
  { name: '@dot-i/k8s-operator', message: 'Load dot-i through src/kube/dot-i.ts' },
];
const noExit = {
  selector: "CallExpression[callee.object.name='process'][callee.property.name='exit']",
  message: 'process.exit belongs to src/bin: throw, or return an exit code to the entry point',
};
const noUrlOfRequest = {
  selector: "NewExpression[callee.name='URL'] MemberExpression[object.name=/^req(uest)?$/][property.name='url']",
  message: 'new URL throws on targets such as "//": take them apart with requestTarget (src/base/request-target.ts)',
};
/** A time limit must be one that a test can move, and its timer must end with the work. */
const noOtherClock = {
  selector: "MemberExpression[object.name='AbortSignal'][property.name='timeout']",
  message: 'set a time limit with within or TimeLimit (src/base/time-limit.ts), on the clock that is passed in',
};
/** The rule is not for the page, which does not have the load of a server: it may use the browser's own `any`. */
const noSignalAny = {
  selector: "MemberExpression[object.name='AbortSignal'][property.name='any']",
  message: 'link signals with LinkedAbort (src/base/linked-abort.ts), which costs less and leaves nothing behind',
};
const noServerBeside = [
  { selector: 'CallExpression[callee.property.name=/^create(Secure)?Server$/]', message: serverRemedy },
  {
    selector: "CallExpression[callee.property.name='listen'][callee.object.name=/(app|server)$/i]",
    message: `bind it with listen (src/net); ${serverRemedy}`,
  },
];

export default tseslint.config(
  { ignores: ['dist', 'release', 'node_modules', 'coverage', '**/testdata/**', '**/*.cjs'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { boundaries },
    settings: {
      'boundaries/include': ['src/**/*.ts', 'ui/**/*.{ts,tsx}'],
      'boundaries/elements': [
        ...pageLayers.map((type) => ({ type, pattern: type.replace('page-', 'ui/') })),
        { type: 'page-types', pattern: 'src/api/page' },
        ...layers.flat().map((name) => ({ type: name, pattern: `src/${name}` })),
        { type: 'testing', pattern: 'src/testing' },
      ],
      'import/resolver': { node: { extensions: ['.ts', '.tsx', '.js'] } },
    },
    rules: {
      'boundaries/dependencies': [
        'error',
        {
          default: 'disallow',
          message:
            '{{from.element.types}} must not import {{to.element.types}}: imports only go down the layers (docs/adr/0002-layers.md)',
          policies: [
            ...policies,
            ...pagePolicies,
            { from: element('package'), allow: { to: element('testing') } },
            { from: element('testing'), allow: { to: element(['testing', ...layers.flat(), 'page-types']) } },
          ],
        },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-syntax': ['error', noExit],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { paths: [...clusterImports, ...serverImports, ...clientImports] },
      ],
      'no-restricted-syntax': ['error', noExit, noOtherClock, noSignalAny, noUrlOfRequest, ...noServerBeside],
    },
  },
  {
    // The renderers know no platform.
    files: ['src/render/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-restricted-globals': ['error', 'Buffer', 'process'] },
  },
  {
    files: ['src/net/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', { paths: [...clusterImports, ...clientImports] }],
      'no-restricted-syntax': ['error', noExit, noOtherClock, noSignalAny, noUrlOfRequest],
    },
  },
  {
    files: ['src/kube/**/*.ts'],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { paths: [...serverImports, ...clientImports] }] },
  },
  {
    files: ['src/bin/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', noOtherClock, noSignalAny, noUrlOfRequest, ...noServerBeside] },
  },
  {
    files: ['e2e/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', noSignalAny] },
  },
  {
    // node:test reports every test that it was given; nobody needs to await its promise.
    files: ['examples/**/*.spec.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', name: 'test', package: 'node:test' }] },
      ],
    },
  },
  {
    files: ['**/*.test.ts', 'src/testing/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', noExit, noSignalAny] },
  },
  {
    files: ['**/*.test.ts', 'src/testing/**/*.ts', 'e2e/**/*.ts'],
    plugins: { boundaries },
    rules: { 'boundaries/dependencies': 'off', '@typescript-eslint/no-restricted-imports': 'off' },
  },
  {
    files: ['src/testing/**/*.ts', 'bench/**/*.ts'],
    ignores: ['**/*.test.ts', ...standIns],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { paths: serverImports }] },
  },
  {
    files: ['**/*.test.ts', 'src/testing/**/*.ts', 'e2e/**/*.ts', 'bench/**/*.ts'],
    plugins: { tests: testRules },
    rules: { 'tests/asserts-on-every-path': 'error', 'tests/fixed-date-beside-real-clock': 'error' },
  },
  {
    files: ['**/*.test.ts', 'e2e/**/*.ts'],
    plugins: { tests: testRules },
    rules: { 'tests/loops-that-run': 'error' },
  },
);
