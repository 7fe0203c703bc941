import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBinaries, findPublished } from './binaries.ts';
import { release, type BinaryName, type Release } from './releases.ts';

/** A publisher on loopback, with two archives laid out as the real ones; `answer` decides how it responds. */
let temp: string;
let server: Server;
let base: string;
let asked: string[];
let answer: (response: ServerResponse, bytes: Buffer) => void;
const archives = new Map<string, Buffer>();
const inServer: BinaryName[] = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];

beforeAll(async () => {
  temp = mkdtempSync(join(tmpdir(), 'svc-download-'));
  archives.set('/server.tar.gz', archiveOf('kubernetes/server/bin', inServer));
  archives.set('/envtest.tar.gz', archiveOf('controller-tools/envtest', ['etcd']));
  server = createServer((request, response) => {
    asked.push(request.url!);
    answer(response, archives.get(request.url!)!);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
  answer = (response, bytes) => response.end(bytes);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(temp, { recursive: true });
});

function archiveOf(folder: string, programs: string[]): Buffer {
  const dir = mkdtempSync(join(temp, 'archive-'));
  mkdirSync(join(dir, folder), { recursive: true });
  for (const name of [...programs, 'kubelet'])
    writeFileSync(join(dir, folder, name), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 });
  execFileSync('tar', ['-czf', join(dir, 'archive.tar.gz'), '-C', dir, folder]);
  return readFileSync(join(dir, 'archive.tar.gz'));
}

const sha512 = (bytes: Buffer): string => createHash('sha512').update(bytes).digest('hex');

function published(change: { url?: string; maxBytes?: number; sha512?: string } = {}): Release {
  const common = { maxBytes: 1_000_000, ...change };
  const member = (folder: string, names: BinaryName[]): Partial<Record<BinaryName, string>> =>
    Object.fromEntries(names.map((name) => [name, `${folder}/${name}`]));
  const [serverBytes, etcdBytes] = ['/server.tar.gz', '/envtest.tar.gz'].map((path) => archives.get(path)!);
  const archive = (path: string, bytes: Buffer) => ({
    name: path.slice(1),
    url: `${change.url ?? base}${path}`,
    sha512: sha512(bytes),
  });
  return {
    version: 'v9.9.9',
    archives: {
      [process.arch]: [
        {
          ...archive('/server.tar.gz', serverBytes!),
          ...common,
          members: member('kubernetes/server/bin', inServer),
        },
        {
          ...archive('/envtest.tar.gz', etcdBytes!),
          maxBytes: 1_000_000,
          members: member('controller-tools/envtest', ['etcd']),
        },
      ],
    },
  };
}

async function fetchInto(root: string, from: Release, limits = {}) {
  const lines: string[] = [];
  const found = await findPublished(root, { release: from, limits, log: (line) => void lines.push(line) });
  return { found, said: lines.join('\n') };
}
const newRoot = (): string => mkdtempSync(join(temp, 'cache-'));
const filesIn = (root: string): string[] => {
  const all = readdirSync(root, { recursive: true, withFileTypes: true });
  return all.filter((entry) => entry.isFile()).map(({ name }) => name);
};

describe.each(Object.entries(release.archives))('the published archives for %s', (_arch, list) => {
  test('come from official addresses, with a SHA-512 each, and bring every program', () => {
    expect(new Set(list!.map(({ url }) => new URL(url).host))).toEqual(new Set(['dl.k8s.io', 'github.com']));
    expect(list!.flatMap(({ members }) => Object.keys(members)).toSorted()).toEqual([...inServer, 'etcd'].toSorted());
    for (const archive of list!) {
      expect(archive.url).toMatch(new RegExp(`^https://.*/${archive.name.replaceAll('.', String.raw`\.`)}$`));
      expect(archive.sha512).toMatch(/^[0-9a-f]{128}$/);
    }
  });
});

test('good archives yield the wanted programs and no others, and are downloaded once', async () => {
  const root = newRoot();
  const { found, said } = await fetchInto(root, published());
  expect(found?.version).toBe('v9.9.9');
  expect(execFileSync(found!['kube-scheduler'], { encoding: 'utf8' })).toBe('kube-scheduler\n');
  expect(said).toContain("downloaded server.tar.gz, 0.0 MB; its SHA-512 is the one of the publisher's list");
  expect(filesIn(root).toSorted()).toEqual([...inServer, 'etcd'].toSorted());
  expect((await fetchInto(root, published())).found).toEqual(found);
  expect(asked).toHaveLength(2);
});

/** Each fault, and the log line that reports it. */
const faults: [name: string, arrange: () => { from: Release; limits?: object }, sentence: RegExp][] = [
  [
    'a wrong file is refused',
    () => ({ from: published({ sha512: 'ab'.repeat(64) }) }),
    /^server\.tar\.gz: refused, its SHA-512 is [0-9a-f]{128}, the publisher's list has (ab){64}; building from modules/m,
  ],
  [
    'a truncated file is refused',
    () => {
      answer = (response, bytes) => {
        response.writeHead(200, { 'content-length': bytes.length });
        response.write(bytes.subarray(0, 100), () => response.destroy());
      };
      return { from: published() };
    },
    /: the connection broke after 0\.0 MB/,
  ],
  [
    'a truncated file of unknown length is refused',
    () => {
      answer = (response, bytes) => response.end(bytes.subarray(0, 100));
      return { from: published() };
    },
    /: refused, its SHA-512 is/,
  ],
  [
    'a download that stalls is given up',
    () => {
      answer = (response, bytes) => void response.write(bytes.subarray(0, 100));
      return { from: published(), limits: { stallMs: 300 } };
    },
    /: nothing came for 0\.3 s after 0\.0 MB/,
  ],
  [
    'a download that is too slow is given up',
    () => {
      answer = (response) => {
        const timer = setInterval(() => response.write('x'), 50);
        response.on('close', () => clearInterval(timer));
      };
      return { from: published(), limits: { totalMs: 700 } };
    },
    /: not complete after 0\.7 s/,
  ],
  [
    'a file without an end is read only up to its limit',
    () => {
      answer = (response) => {
        const more = (): void =>
          void (response.destroyed || response.write('x'.repeat(65_536), () => setImmediate(more)));
        more();
      };
      return { from: published({ maxBytes: 1_000_000 }) };
    },
    // Two archives are downloaded at the same time. The one that fails first is named.
    /(?:server|envtest)\.tar\.gz: longer than 1\.0 MB, refused/,
  ],
  [
    'an address that does not answer is given up',
    () => {
      answer = () => {};
      return { from: published(), limits: { answerMs: 300 } };
    },
    /: no answer within 0\.3 s from 127\.0\.0\.1:\d+; building from modules instead/,
  ],
  [
    'an address that refuses connections is given up',
    () => ({ from: published({ url: 'http://127.0.0.1:9' }) }),
    /: cannot be reached \(.*\); building/,
  ],
  [
    'a missing archive is given up',
    () => {
      answer = (response) => response.writeHead(404).end();
      return { from: published() };
    },
    /answers 404/,
  ],
];

test.each(faults)('%s, with the reason in the log, and leaves no file', async (_name, arrange, sentence) => {
  const { from, limits } = arrange();
  const root = newRoot();
  const { found, said } = await fetchInto(root, from, limits);
  expect(found).toBeUndefined();
  expect(said).toMatch(sentence);
  expect(filesIn(root)).toEqual([]);
});

test('an interrupted download leaves no file', async () => {
  const root = newRoot();
  const abort = new AbortController();
  answer = (response, bytes) => void response.write(bytes.subarray(0, 100), () => abort.abort(new Error('Ctrl-C')));
  const going = findPublished(root, { release: published(), signal: abort.signal, log: () => {} });
  await expect(going).rejects.toThrow('Ctrl-C');
  expect(filesIn(root)).toEqual([]);
});

test('nothing is downloaded if the programs exist, or if the caller wants built programs', async () => {
  const assets = mkdtempSync(join(temp, 'assets-'));
  for (const name of [...inServer, 'etcd']) writeFileSync(join(assets, name), '', { mode: 0o755 });
  const options = { env: { KUBEBUILDER_ASSETS: assets }, cacheDir: newRoot(), release: published() };
  const found = await findBinaries({ ...options, published: true });
  expect(found.etcd).toBe(join(assets, 'etcd'));
  expect(await findBinaries(options)).toEqual(found);
  expect([asked, existsSync(join(options.cacheDir, 'kube'))]).toEqual([[], false]);
});
