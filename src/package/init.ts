import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** The names of a new operator. */
export interface NewOperator {
  /** Name of the package, the image and the Deployment: a DNS label, such as `shop-operator`. */
  readonly name: string;
  /** CamelCase, such as `Shop`. */
  readonly kind: string;
  /** API group, such as `example.dev`. */
  readonly group: string;
}

/** The exact versions of the packages that a project depends on. */
export interface ProjectVersions {
  /** The version of this package, or the location of its archive. */
  readonly own: string;
  readonly typescript: string;
  readonly nodeTypes: string;
}

const dnsLabel = /^[a-z]([-a-z0-9]{0,51}[a-z0-9])?$/;
const kindName = /^[A-Z][A-Za-z0-9]{0,39}$/;
const groupName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;
/** Kubernetes' own groups: the API server refuses a CRD in them without the annotation `api-approved.kubernetes.io`. */
const protectedGroup = /(^|\.)(k8s|kubernetes)\.io$/;

/**
 * The template names variables after the kind, in lower case: a kind must be neither a reserved word of JavaScript nor
 * a name that the code of the template already uses.
 */
const takenWords = new Set(
  (
    'break case catch class const continue debugger default delete do else enum export extends false finally for ' +
    'function if implements import in instanceof interface let new null package private protected public return ' +
    'static super switch this throw true try typeof var void while with yield await async arguments eval undefined ' +
    'assert audience audiences children clock conditions definition env failure generation identity informer key ' +
    'label list logger message metadata names namespace now object optional options outcome owner plan process reason ' +
    'set signal spec status test text'
  ).split(' '),
);

/** Types, and globals with a type, that the template uses beside that of the kind. */
const takenTypes = new Set(
  (
    'ApplyOutcome ApplySet ControllerEnvironment ControllerHandle JSON KindDefinition KubeObject StatusError ' +
    'StatusWriter URL'
  ).split(' '),
);

/**
 * Derives the names from the given ones: `shop-operator` gives kind `Shop` in group `example.dev`.
 * Errors: throws, with the option and the reason, when a name is not valid.
 */
export function nameOperator(
  name: string,
  given: { kind?: string | undefined; group?: string | undefined },
): NewOperator {
  if (!dnsLabel.test(name)) {
    throw new Error(
      `name "${name}": it takes lower-case letters, digits and dashes, begins with a letter, and has at most 53`,
    );
  }
  const stem = name.replace(/-operator$/, '');
  const camel = stem.replace(/(?:^|-+)([a-z0-9])/g, (_, first: string) => first.toUpperCase());
  const { kind = camel, group = 'example.dev' } = given;
  if (!kindName.test(kind))
    throw new Error(`--kind "${kind}": it takes one CamelCase word of at most 40 letters and digits`);
  if (!groupName.test(group) || group.length > 200)
    throw new Error(`--group "${group}": it takes a DNS name with a dot, such as example.dev`);
  if (takenWords.has(kind.toLowerCase()) || takenWords.has(pluralOf(kind))) {
    throw new Error(`--kind "${kind}": in lower case it is a word that the code of the project needs; choose another`);
  }
  if (takenTypes.has(kind))
    throw new Error(`--kind "${kind}": it is a type that the code of the project needs; choose another`);
  if (protectedGroup.test(group))
    throw new Error(`--group "${group}": groups under k8s.io and kubernetes.io are Kubernetes' own`);
  return { name, kind, group };
}

/** The plural as Kubernetes' own tools form it; users may change it in `src/kind.ts`. Pure. */
export function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}

/** Replaces the names of the greeter, the example in the template, by those of the new operator. Pure. */
export function renamed(text: string, { name, kind, group }: NewOperator): string {
  const camel = kind[0]!.toLowerCase() + kind.slice(1);
  const names: Record<string, string> = {
    'greeter-operator': name,
    'example.dev': group,
    GreeterList: `${kind}List`,
    Greeter: kind,
    greeterKind: `${camel}Kind`,
    greeters: pluralOf(kind),
    greeter: kind.toLowerCase(),
  };
  // All in one pass: an inserted name may contain a name of the template.
  return text.replace(
    /greeter-operator|example\.dev|\bGreeterList\b|(?<=plan|setup|\ba|\b)Greeter\b|\bgreeter(?:Kind|s)?\b/g,
    (word) => names[word]!,
  );
}

/**
 * Makes the project in `folder` from the template, and returns the paths of its files, sorted.
 * Errors: throws when the folder is not empty; nothing is overwritten.
 */
export async function makeProject(
  folder: string,
  template: string,
  operator: NewOperator,
  versions: ProjectVersions,
): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`);
  await cp(template, folder, { recursive: true });
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((e) => e.isFile())) {
    const file = join(entry.parentPath, entry.name);
    await writeFile(file, renamed(await readFile(file, 'utf8'), operator));
  }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifestOf(operator, versions), undefined, 2)}\n`);
  await writeFile(join(folder, '.gitignore'), 'node_modules/\n');
  const made = await readdir(folder, { recursive: true, withFileTypes: true });
  return made
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

function manifestOf({ name }: NewOperator, versions: ProjectVersions): object {
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=24' },
    scripts: {
      start: 'node src/main.ts',
      // The flag also ends a run whose tests left something open, such as a server.
      test: 'node --test --test-force-exit "src/**/*.spec.ts"',
      check: 'tsc',
      generate: 'node src/generate.ts',
    },
    dependencies: { 'svc-operator': versions.own },
    devDependencies: { '@types/node': versions.nodeTypes, typescript: versions.typescript },
  };
}
