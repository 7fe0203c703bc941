/**
 * The product on a real kernel with kprobes, uprobes and type information, in a virtual machine of its own.
 *
 *     make e2e-kernel                             # a stand-in plays the instrument
 *     make e2e-kernel INSTRUMENT=/path/to/binary  # the real one: a static program for Linux
 *
 * Needs Linux and QEMU; says what to install. The machine has no network, and is gone at the end, also after Ctrl-C.
 * Both instruments pass the same checks. Last line: N passed, N failed, N skipped.
 */
import { accessSync, constants, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { instrumentVersion, type InstrumentVersion } from '../../src/capture/index.ts';
import { refusedFiles } from '../instrument/golden-files.ts';
import { thisMachine } from '../kubelet/needs.ts';
import { makeInitialRam, makeRootImage } from './images.ts';
import { findLinux } from './linux.ts';
import { findAcceleration, VirtualMachine, type Acceleration } from './machine.ts';
import { whyNoMachine } from './needs.ts';
import { programFiles, type Orders, type Outcome, type Report } from './orders.ts';
import { buildPrograms } from './programs.ts';

const help = `usage: node e2e/kernel/main.ts [options]

Starts a virtual machine with a kernel that can be instrumented, and checks the product in it.
INSTRUMENT names the real instrument, a static program; without it a stand-in takes its place.

  --only A,B      only these groups of checks: requests, flows, protocols, tcp, monitors, deaths,
                  capabilities, clock
  --version V     version of the instrument, for which its file is rendered (default v0.10; others: v0.9, v0.12)
  --memory MB     memory of the machine (default 3584)
  --slowness N    every wait takes this many times what it takes on an idle machine (default: 1 with KVM, 6 without)
  --limit S       end the machine after this many seconds (default 1500; with the real instrument, whose restarts each
                  take a minute without KVM, 3600)
  --keep          keep the machine running after the checks, until Ctrl-C; from the start a shell of the machine answers
                  on a socket, whose name is printed: socat -,raw,echo=0 UNIX-CONNECT:<name>
  --debug         the instrument logs at its most talkative level, and each request that it sees, into
                  /work/stage/instrument.log of the machine
  --help          this text
`;

/** The default slowness: without KVM every instruction is translated. */
const slowness: Readonly<Record<Acceleration, number>> = { kvm: 1, tcg: 6 };

const counts: Record<Outcome, number> = { passed: 0, failed: 0, skipped: 0 };
const started = Date.now();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const log = (line: string): void => say(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`);

function check(outcome: Outcome, what: string, seen: string): void {
  counts[outcome]++;
  const words: Readonly<Record<Outcome, string>> = { passed: 'ok   ', failed: 'FAIL ', skipped: 'skip ' };
  log(`${words[outcome]} ${what}${seen === '' ? '' : `: ${seen}`}`);
}

interface Options {
  readonly only: readonly string[];
  readonly version: InstrumentVersion;
  readonly memoryMb: number;
  readonly limitMs: number;
  readonly keep: boolean;
  readonly debug: boolean;
  /** 0 for the default of the acceleration. */
  readonly slowness: number;
}

function parseOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      version: { type: 'string', default: 'v0.10' },
      memory: { type: 'string', default: '3584' },
      limit: { type: 'string', default: process.env['INSTRUMENT'] ? '3600' : '1500' },
      slowness: { type: 'string', default: '0' },
      keep: { type: 'boolean', default: false },
      debug: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const number = (name: 'memory' | 'limit' | 'slowness', least: number): number => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= 1e6) return value;
    throw new Error(`--${name} must be a whole number from ${least}`);
  };
  const only = values.only.split(',').filter(Boolean);
  return {
    only,
    version: instrumentVersion(values.version),
    memoryMb: number('memory', 1_024),
    limitMs: number('limit', 10) * 1_000,
    slowness: number('slowness', 0),
    keep: values.keep,
    debug: values.debug,
  };
}

/**
 * Lets the real instrument check the files that we render. The check needs nothing of the kernel, so it runs outside of
 * the virtual machine.
 */
async function checkGoldenFiles(instrument: string | null, version: InstrumentVersion): Promise<void> {
  const what = "golden files: the instrument's own check refuses none of them";
  if (instrument === null) return check('skipped', what, 'only the real instrument has one');
  const { files, refused } = await refusedFiles(instrument, version);
  check(refused.length === 0 ? 'passed' : 'failed', what, refused.join('; ') || `${files} files`);
}

/** Puts the virtual machine together, runs it to its end, and reports as it goes. */
async function runMachine(
  dir: string,
  instrument: string | null,
  options: Options,
  interrupted: AbortSignal,
): Promise<void> {
  const linux = await findLinux(log);
  const initialRam = await makeInitialRam(linux, dir);
  const console = join(dir, 'console');
  const acceleration = await findAcceleration({ kernel: linux.image, initialRam, console });
  log(
    `Linux ${linux.release}, ${acceleration === 'kvm' ? 'with KVM' : 'without KVM: guests do not start with it here'}`,
  );
  interrupted.throwIfAborted();
  const programs = join(dir, 'programs');
  await buildPrograms(programs, log);
  if (instrument !== null) copyFileSync(instrument, join(programs, 'instrument'));
  const orders: Orders = {
    programs: '/programs',
    instrument: instrument === null ? null : '/programs/instrument',
    version: options.version,
    slowness: options.slowness || slowness[acceleration],
    only: options.only,
    keep: options.keep,
    debug: options.debug,
  };
  writeFileSync(join(programs, programFiles.orders), JSON.stringify(orders));
  interrupted.throwIfAborted();
  const rootImage = await makeRootImage(programs, dir);
  log('the root image is made; the machine starts');
  const shell = join(dir, 'shell');
  if (options.keep) log(`a shell of the machine will answer on ${shell}`);
  interrupted.throwIfAborted();
  let ended = false;
  const machine = new VirtualMachine({
    ...{ acceleration, kernel: linux.image, initialRam, rootImage, console, memoryMb: options.memoryMb },
    ...(options.keep ? { shell } : {}),
    onLine: (line) => {
      const report = parseReport(line);
      if (report === null) log(`the machine: ${line}`);
      else if (report.kind === 'step') log(report.text);
      else if (report.kind === 'check') check(report.outcome, report.what, report.seen);
      else if (report.kind === 'words') log(`--- last words of ${report.of}\n${report.text}`);
      else ended = true;
    },
  });
  interrupted.addEventListener('abort', () => void machine.kill());
  const limit = options.keep
    ? undefined
    : setTimeout(() => {
        check('failed', 'the machine is done in time', `it was ended after ${options.limitMs / 1_000} s`);
        void machine.kill();
      }, options.limitMs);
  await machine.off();
  clearTimeout(limit);
  interrupted.throwIfAborted();
  if (ended) return;
  const words = [console, `${console}.errors`].map((path) => readFileSync(path, 'utf8').slice(-3_000)).join('\n');
  check('failed', 'the machine runs to the end of its checks', `it went off before; the console said:\n${words}`);
}

function parseReport(line: string): Report | null {
  try {
    return JSON.parse(line) as Report;
  } catch {
    return null;
  }
}

async function main(): Promise<number> {
  const options = parseOptions();
  if (options === null) {
    say(help);
    return 0;
  }
  const instrument = process.env['INSTRUMENT'] || null;
  if (instrument !== null) accessSync(instrument, constants.X_OK);
  const reason = whyNoMachine(thisMachine());
  if (reason !== null) throw new Error(`no virtual machine can be started here: ${reason}`);
  const who =
    instrument === null
      ? 'a stand-in plays the instrument, and captures nothing by itself (INSTRUMENT=/path names the real one)'
      : `the instrument is ${instrument}`;
  say(who);
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupt.abort(new Error(`ended by ${signal}`)));
  }
  const dir = mkdtempSync(join(tmpdir(), 'svc-kernel-'));
  try {
    await checkGoldenFiles(instrument, options.version);
    await runMachine(dir, instrument, options, interrupt.signal);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  log(`done: ${who}`);
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
