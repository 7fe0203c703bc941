import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { makeProject, nameOperator, pluralOf, renamed } from './init.ts';

const template = join(import.meta.dirname, '../../examples/greeter');
const versions = { own: '1.2.3', typescript: '5.9.3', nodeTypes: '24.0.0' };
let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'svc-init-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

test('the kind is derived from the name, and kind and group can be given', () => {
  expect(nameOperator('web-shop-operator', {})).toEqual({
    name: 'web-shop-operator',
    kind: 'WebShop',
    group: 'example.dev',
  });
  expect(nameOperator('shops', { kind: 'Shop', group: 'a.b.c' })).toEqual({
    name: 'shops',
    kind: 'Shop',
    group: 'a.b.c',
  });
});

test.each([
  ['Shop', {}, 'name "Shop"'],
  ['../shop', {}, 'name "../shop"'],
  ['shop', { kind: 'shop' }, '--kind "shop"'],
  ['class-operator', {}, '--kind "Class": in lower case it is a word'],
  ['option-operator', {}, '--kind "Option": in lower case it is a word'],
  ['shop', { kind: 'ApplySet' }, '--kind "ApplySet": it is a type'],
  ['shop', { group: 'dev' }, '--group "dev"'],
  ['shop', { group: 'apps.k8s.io' }, "Kubernetes' own"],
])('%s %j is refused, and the error names the option and the reason', (name, given, message) => {
  expect(() => nameOperator(name, given)).toThrow(message);
});

/** The names of variables, functions, imports and types that a source uses; names of members are left out. */
function namesIn(source: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const { parent } = node;
    const isMember =
      (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
      ((ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent) || ts.isMethodDeclaration(parent)) &&
        parent.name === node) ||
      (ts.isBindingElement(parent) && parent.propertyName === node);
    if (ts.isIdentifier(node) && !isMember) names.push(node.text);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true), visit);
  return names;
}

const isRefused = (kind: string): boolean => {
  try {
    nameOperator('shop', { kind });
    return false;
  } catch {
    return true;
  }
};
/** The kinds that a source cannot have, because it would use one of its names for the kind, too. */
function kindsTakenIn(source: string): string[] {
  const names = new Set(namesIn(source));
  const words = [...names].filter((name) => /^[a-z][a-z0-9]*$/.test(name) && !/^greeters?$/.test(name));
  const singulars = words.flatMap((word) =>
    [word.slice(0, -1), word.slice(0, -2), `${word.slice(0, -3)}y`].filter((one) => pluralOf(one) === word),
  );
  const types = [...names].filter((name) => /^[A-Z]/.test(name) && name !== 'Greeter');
  return [
    ...[...(names.has('greeter') ? words : []), ...(names.has('greeters') ? singulars : [])].map(
      (word) => word.charAt(0).toUpperCase() + word.slice(1),
    ),
    ...(names.has('Greeter') ? types : []),
  ];
}

test('a kind that would take a name from the code of the template is refused', async () => {
  const folder = join(template, 'src');
  const sources = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  const kinds = sources.flatMap(kindsTakenIn);
  expect(kinds).toEqual(expect.arrayContaining(['Option', 'Audience', 'Informer', 'KubeObject']));
  expect(kinds.filter((kind) => !isRefused(kind))).toEqual([]);
});

test.each([
  ['Shop', 'shops'],
  ['Policy', 'policies'],
  ['Gateway', 'gateways'],
  ['Ingress', 'ingresses'],
])('the plural of %s is %s', (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural);
});

test('the template renamed to its own names is unchanged in every file', async () => {
  const entries = await readdir(template, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'));
  expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(['Dockerfile', 'README.md', 'controller.ts']));
  for (const { parentPath, name } of files) {
    const text = await readFile(join(parentPath, name), 'utf8');
    expect(renamed(text, { name: 'greeter-operator', kind: 'Greeter', group: 'example.dev' })).toBe(text);
  }
});

test('names of the new operator that contain names of the template are inserted as they are', () => {
  const text = "'example.dev', greeter-operator, greeterKind, GreeterList, planGreeter, a Greeter, greeters, greeter";
  expect(renamed(text, { name: 'team-greeter', kind: 'Hello', group: 'greeter.example.com' })).toBe(
    "'greeter.example.com', team-greeter, helloKind, HelloList, planHello, a Hello, hellos, hello",
  );
  expect(renamed(text, { name: 'greeters', kind: 'Greeter', group: 'my.example.dev' })).toBe(
    "'my.example.dev', greeters, greeterKind, GreeterList, planGreeter, a Greeter, greeters, greeter",
  );
});

test('a new project contains no name of the template, and has its own names in every place', async () => {
  const folder = join(dir, 'shop-operator');
  const operator = { name: 'shop-operator', kind: 'WebShop', group: 'acme.test' };
  const files = await makeProject(folder, template, operator, versions);
  expect(files).toEqual(
    expect.arrayContaining(['Dockerfile', 'README.md', '.gitignore', 'package.json', 'src/kind.ts']),
  );
  expect(files).not.toContain('src');
  const texts = await Promise.all(files.map(async (file) => `${file}\n${await readFile(join(folder, file), 'utf8')}`));
  expect(texts.filter((text) => /greeter|example\.dev/i.test(text))).toEqual([]);
  const crd = JSON.parse(await readFile(join(folder, 'manifests/crd.json'), 'utf8')) as object;
  expect(crd).toMatchObject({
    metadata: { name: 'webshops.acme.test', labels: { 'app.kubernetes.io/name': 'shop-operator' } },
    spec: { group: 'acme.test', names: { kind: 'WebShop', listKind: 'WebShopList', plural: 'webshops' } },
  });
  const controller = await readFile(join(folder, 'src/controller.ts'), 'utf8');
  expect(controller).toContain('export function planWebShop({ metadata, spec }: WebShop)');
  expect(controller).toContain('export function setupWebShop(');
});

test.each([
  ['by itself', (spec: string) => spec, (script: string) => script.replace(' --test-force-exit', '')],
  [
    'by its script, also when it stops nothing',
    (spec: string) => spec.replaceAll('await using', 'const'),
    (script: string) => script,
  ],
])('a new project whose test fails ends %s, and names the test', async (_how, specOf, scriptOf) => {
  const folder = join(dir, 'shop-operator');
  await makeProject(folder, template, nameOperator('shop-operator', {}), versions);
  await mkdir(join(folder, 'node_modules'));
  await symlink(join(import.meta.dirname, '../..'), join(folder, 'node_modules/svc-operator'));
  const file = join(folder, 'src/controller.spec.ts');
  const text = await readFile(file, 'utf8');
  const wrong = text.replace("'Greeted'", "'Wrong'");
  expect(wrong).not.toBe(text);
  await writeFile(file, specOf(wrong));
  const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    scripts: { test: string };
  };
  const command = scriptOf(scripts.test).replace('node ', `${process.execPath} `);
  const options = { cwd: folder, timeout: 40_000, env: { ...process.env, NODE_TEST_CONTEXT: undefined } };
  const ended = await new Promise<{ killed: boolean; output: string }>((resolve) => {
    execFile('sh', ['-c', `exec ${command}`], options, (error, output) =>
      resolve({ killed: error?.killed ?? false, output }),
    );
  });
  expect(ended).toEqual({ killed: false, output: expect.stringMatching(/fail 1\b/) });
  expect(ended.output).toContain('greets, follows, repairs, prunes');
});

test('a folder that holds anything is left as it is', async () => {
  await writeFile(join(dir, 'mine.txt'), 'mine');
  const operator = nameOperator('shop', {});
  await expect(makeProject(dir, template, operator, versions)).rejects.toThrow('is not empty');
  expect(await readdir(dir)).toEqual(['mine.txt']);
});
