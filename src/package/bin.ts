#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorText } from '../base/errors.ts';
import { makeProject, nameOperator, type ProjectVersions } from './init.ts';

/** The folder of the installed package, which holds its manifest and the template of `npx svc-operator init <name>`. */
const home = join(import.meta.dirname, '..');
const usage = `Usage: svc-operator init <name> [--kind Kind] [--group example.dev]

Makes the project of a new operator in the folder <name>: a kind, a controller, its tests, manifests and an image.

  --kind     the kind, in CamelCase. Default: the name without "-operator".
  --group    the API group. Default: example.dev.
  --version  the version of this package.
  --help     this text.
`;

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`svc-operator: ${errorText(error)}\n`);
  process.exitCode = 1;
}

async function run(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      kind: { type: 'string' },
      group: { type: 'string' },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    version: string;
    template: Omit<ProjectVersions, 'own'>;
  };
  if (values.version) process.stdout.write(`${manifest.version}\n`);
  else if (values.help) process.stdout.write(usage);
  else {
    const [command, name, ...more] = positionals;
    if (command !== 'init' || name === undefined || more.length > 0) {
      process.stderr.write(usage);
      return 2;
    }
    const operator = nameOperator(name, values);
    const files = await makeProject(resolve(name), join(home, 'template'), operator, {
      ...manifest.template,
      own: manifest.version,
    });
    process.stdout.write(`${name}: ${files.length} files for kind ${operator.kind} of ${operator.group}\n`);
    process.stdout.write(`Next: cd ${name} && npm install && npm test\n`);
  }
  return 0;
}
