import boundaries from 'eslint-plugin-boundaries';
import tseslint from 'typescript-eslint';

/**
 * Layers, top to bottom; an import never goes up (docs/adr/0002-layers.md).
 * Each row may import the rows below it and, inside its own row, only its own folder.
 */
const layers = [
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
  row.map((name) => ({ from: element(name), allow: { to: element([name, ...below(i)]) } })),
);

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'coverage', '**/testdata/**', '**/*.cjs'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { boundaries },
    settings: {
      'boundaries/include': ['src/**/*.ts'],
      'boundaries/elements': [
        ...layers.flat().map((name) => ({ type: name, pattern: `src/${name}` })),
        { type: 'testing', pattern: 'src/testing' },
      ],
      'import/resolver': { node: { extensions: ['.ts', '.js'] } },
    },
    rules: {
      'boundaries/dependencies': [
        'error',
        {
          default: 'disallow',
          message:
            '{{from.element.types}} must not import {{to.element.types}}: imports only go down the layers (docs/adr/0002-layers.md)',
          policies: [...policies, { from: element('testing'), allow: { to: element(['testing', ...layers.flat()]) } }],
        },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.object.name='process'][callee.property.name='exit']",
          message: 'process.exit belongs to src/bin: throw, or return an exit code to the entry point',
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/kube/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [
            { name: '@kubernetes/client-node', message: 'Only src/kube talks to client-node: use its ports' },
            { name: '@dot-i/k8s-operator', message: 'Load dot-i through src/kube/dot-i.ts' },
          ],
        },
      ],
    },
  },
  {
    files: ['src/bin/**/*.ts', 'e2e/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['**/*.test.ts', 'src/testing/**/*.ts', 'e2e/**/*.ts'],
    plugins: { boundaries },
    rules: { 'boundaries/dependencies': 'off', 'no-restricted-imports': 'off' },
  },
);
