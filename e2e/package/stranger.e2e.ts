import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { blocksOf, changed, type Block } from './guide.ts';
import { bringPackages } from './project.ts';
import { stageRelease, type Stage } from './stage.ts';

/**
 * What a stranger can do with nothing but a release folder: the steps of the guide for controllers that need no
 * cluster.
 */

const minutes = 60_000;
let stage: Stage;
let blocks: Block[];
const folder = 'greeter-operator';
const project = (...path: string[]): string => join(stage.dir, folder, ...path);
const step = (label: string): string => blocks.find((b) => b.language === 'sh' && b.label === label)!.text;

beforeAll(async () => {
  [stage, blocks] = await Promise.all([stageRelease(), blocksOf('write-a-controller.md')]);
}, 10 * minutes);
afterAll(() => stage?.end());

interface Manifest {
  dependencies: Record<string, string>;
}
const manifestOfPackage = async (): Promise<Manifest> =>
  JSON.parse(await readFile(join(stage.dir, 'package/package.json'), 'utf8')) as Manifest;

test('the archive takes at most 3 MB, and its manifest names exact versions and no development dependency', async () => {
  expect((await stat(join(stage.release, `svc-operator-${stage.version}.npm.tgz`))).size).toBeLessThanOrEqual(3e6);
  const manifest = await manifestOfPackage();
  expect(Object.keys(manifest)).toEqual(expect.arrayContaining(['license', 'engines', 'exports', 'bin']));
  expect(manifest).not.toHaveProperty('devDependencies');
  expect(manifest).not.toHaveProperty('private');
  const versions = Object.values(manifest.dependencies);
  expect(versions.length).toBeGreaterThan(5);
  expect(versions.filter((text) => !/^\d+\.\d+\.\d+$/.test(text))).toEqual([]);
  expect(await readdir(join(stage.dir, 'package'))).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'types']));
});

describe('the guide, in its order', () => {
  test('makes a project that passes its tests and the strictest type check unchanged', async () => {
    const { dependencies } = await manifestOfPackage();
    // `init` needs a new folder, so the packages are moved there just before npm looks for them.
    await bringPackages([...Object.keys(dependencies), 'typescript', '@types/node'], join(stage.dir, 'brought'));
    const output = await stage.run(step('make').replace(/^npm install$/m, 'mv ../brought/node_modules .\nnpm install'));
    expect(output).toMatch(/pass 4\n.*fail 0\n/);
    const tsconfig = await readFile(project('tsconfig.json'), 'utf8');
    expect(tsconfig).toContain('"strict": true');
    expect(tsconfig).not.toContain('skipLibCheck');
  });

  test('shows code that is in the project', async () => {
    const excerpts = blocks.filter(({ language }) => language === 'ts');
    const texts = await Promise.all(excerpts.map(({ label }) => readFile(project(label), 'utf8')));
    expect(texts.length).toBeGreaterThan(0);
    expect(excerpts.filter(({ text }, i) => !texts[i]!.includes(text))).toEqual([]);
  });

  test('changes the project: first the test, which fails until kind and plan are changed', async () => {
    const [first, ...rest] = blocks.filter(({ language }) => language === 'diff');
    const edit = async ({ label, text }: Block): Promise<void> =>
      writeFile(project(label), changed(await readFile(project(label), 'utf8'), text));
    await edit(first!);
    await expect(stage.run('npm test', folder)).rejects.toThrow('ends the sentence as the spec says');
    for (const block of rest) await edit(block);
    const offline = step('change')
      .split('\n')
      .filter((line) => line.startsWith('npm '))
      .join('\n');
    expect(await stage.run(offline, folder)).toMatch(/pass 5\n.*fail 0\n/);
  });

  test('a project with other names passes its tests and checks unchanged, too', async () => {
    await stage.run('npx svc-operator init web-shops --kind WebShop --group acme.test');
    const green = `mv ${project('node_modules')} .\nnpm install\nnpm test\nnpm run check`;
    expect(await stage.run(green, 'web-shops')).toMatch(/pass 4\n.*fail 0\n/);
  });
});
