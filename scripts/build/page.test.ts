import type { Metafile } from 'esbuild';
import { importsOf, withPreloads } from './page.ts';

const output = (...imports: [kind: 'import-statement' | 'dynamic-import', path: string][]) => ({
  ...{ bytes: 1, inputs: {}, exports: [] },
  imports: imports.map(([kind, path]) => ({ kind, path })),
});
const metafile: Metafile = {
  inputs: {},
  outputs: {
    'dist/ui/app.js': output(['import-statement', 'dist/ui/chunks/b.js'], ['dynamic-import', 'dist/ui/chunks/map.js']),
    'dist/ui/chunks/b.js': output(['import-statement', 'dist/ui/chunks/a.js']),
    'dist/ui/chunks/a.js': output(['import-statement', 'dist/ui/chunks/b.js']),
    'dist/ui/chunks/map.js': output(['import-statement', 'dist/ui/chunks/only-of-the-map.js']),
    'dist/ui/chunks/only-of-the-map.js': output(),
  },
};

test('importsOf lists direct and indirect static imports of the first view, without dynamic imports', () => {
  expect(importsOf(metafile, 'app.js')).toEqual(['chunks/a.js', 'chunks/b.js']);
});

test('withPreloads lists the modules to preload in the head of the document', () => {
  expect(withPreloads('<head>\n  </head>\n<body></body>', ['chunks/a.js'])).toBe(
    '<head>\n    <link rel="modulepreload" href="chunks/a.js" />\n  </head>\n<body></body>',
  );
});
