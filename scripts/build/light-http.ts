import * as http from 'node:http';
import type { Plugin } from 'esbuild';

/**
 * Has the sources of a bundle take `http` from `process.getBuiltinModule` instead of importing it. Of a built-in module
 * that is imported, Node.js reads every export to fill the namespace, and reading `WebSocket` of `http` loads its own
 * copy of undici: some 30 ms of processor time at each start, and memory. CommonJS code is left as it is, since
 * `require` makes no namespace.
 */
export const lightHttp: Plugin = {
  name: 'light-http',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'http', namespace: 'light-http', sideEffects: false } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'light-http' }, () => ({ contents: source }));
  },
};

/** A module that exports each name of `http`. esbuild drops the exports that a program does not import. */
const source = [
  `const http = process.getBuiltinModule('node:http');`,
  'export default http;',
  ...Object.keys(http)
    .filter((name) => name !== 'default')
    .map((name) => `export const ${name} = /* @__PURE__ */ (() => http.${name})();`),
].join('\n');
