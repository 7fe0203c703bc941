/**
 * The product on a real node: kubelet, containerd, kube-proxy, a name server and an engine that enforces policies.
 *
 *     make e2e-node ARGS='--edits 20 --edit-seconds 600 --rollouts 10 --chaos-seconds 3600'
 *
 * Needs Linux and root, and says which programs are missing. Everything runs in namespaces of its own and is gone at
 * the end, also after Ctrl-C. After kill -9 a folder and empty control groups stay until the next run removes them.
 * Building the images uses the network; the node has none.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createAuthority } from '../cluster/pki.ts';
import { repository } from '../install/tools.ts';
import { openEnclosure } from './enclosure.ts';
import { buildImages } from './images.ts';
import { createLog } from './log.ts';
import { thisMachine, whyNoNode } from './needs.ts';
import { findPrograms } from './programs.ts';
import type { Orders } from './orders.ts';

const help = `usage: node e2e/kubelet/main.ts [options]

Brings up one real Kubernetes node, installs the product on it, checks it in real pods, and takes everything away.

  --edits N          edits of a monitor in a row (default 8)
  --edit-seconds S   time in which these edits are made (default 120)
  --rollouts N       rollouts of query and minter under load (default 3)
  --chaos-seconds S  how long faults follow one another, each kind at least once (default 300; an hour: 3600)
  --seed N           order of the faults (default: from the clock; the log shows it)
  --only A,B         only these checks, by the name of their file (edits, rollouts, …)
  --report FILE      write the outcomes there, in the form of Jest's JSON report
  --keep             stay up after the checks until Ctrl-C, and say how to get in
  --help             this text
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function parseOrders(): Orders | null {
  const { values } = parseArgs({
    options: {
      edits: { type: 'string', default: '8' },
      'edit-seconds': { type: 'string', default: '120' },
      rollouts: { type: 'string', default: '3' },
      'chaos-seconds': { type: 'string', default: '300' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
      report: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const number = (name: 'edits' | 'edit-seconds' | 'rollouts' | 'chaos-seconds' | 'seed', most = 3_600): number => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= 0 && value <= most) return value;
    throw new Error(`--${name} must be a whole number from 0 to ${most}`);
  };
  return {
    edits: number('edits'),
    editSeconds: number('edit-seconds'),
    rollouts: number('rollouts'),
    chaosSeconds: number('chaos-seconds'),
    seed: number('seed', 999_999),
    only: values.only.split(',').filter(Boolean),
    keep: values.keep,
    report: values.report === '' ? '' : resolve(values.report),
  };
}

async function main(): Promise<number> {
  const orders = parseOrders();
  if (orders === null) {
    process.stdout.write(help);
    return 0;
  }
  const reason = whyNoNode(thisMachine());
  if (reason !== null) throw new Error(`no node can be brought up here: ${reason}`);
  const started = Date.now();
  const log = createLog(started);
  const programs = await findPrograms();
  const enclosure = await openEnclosure();
  const interrupted = new Promise<number>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(130));
  });
  const work = async (): Promise<number> => {
    log('the programs of a node are there');
    const authority = await createAuthority('outside-world');
    const images = await buildImages({
      dir: join(enclosure.dir, 'images'),
      authority: authority.cert,
      keyService: `${outsideHost}:${kmsPort}`,
      isAlone: enclosure.isAlone,
      log,
    });
    const given = { dir: enclosure.dir, started, orders, programs, images, authority, outsideHost, kmsPort };
    const file = join(enclosure.dir, 'given.json');
    writeFileSync(file, JSON.stringify(given), { mode: 0o600 });
    const temporary = join(enclosure.dir, 'tmp');
    mkdirSync(temporary);
    const inside = [process.execPath, join(repository, 'e2e/kubelet/inside.ts'), file];
    return enclosure.run(inside, { TMPDIR: temporary });
  };
  try {
    return await Promise.race([work(), interrupted]);
  } finally {
    await enclosure.close();
    log('nothing is left of it');
  }
}

const outsideHost = 'outside.test';
/** A minter may reach this port and those of platform and issuer, and no other. */
const kmsPort = 443;

try {
  const code = await main();
  // An interrupted build of images ends with this process.
  process.exit(code);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
