import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { find, MiB, numbers, root, second, unclaimed, type Claim, type Sentence } from './documented/claims.ts';

/**
 * Numbers in the ADRs, in the critiques and in the reference of metrics. Each is a constant of the code, a measurement
 * with the command or the test that repeats it, or a fact about another project.
 */

const adr = (number: number): string => {
  const [file] = globSync(`docs/adr/${String(number).padStart(4, '0')}-*.md`, { cwd: root });
  if (file === undefined) throw new Error(`there is no ADR ${number}`);
  return file;
};
const critiques = 'docs/critiques.md';
const agentCertificate: Claim['is'] = ['src/controllers/agent-certificates/judge.ts', /agentCertificateDays = (\d+)/];
const exportSecrets: Claim['is'] = ['src/controllers/capture/exports/export-secrets.ts', /refreshMs = ([\d_]+)/];
const sampleBytes: Claim['is'] = ['src/promql/eval/budget.ts', /sampleBytes = (\d+)/];
const freeBytes: Claim['is'] = ['src/base/memory-pool.ts', /freeBytes = (\d+) \* 1024 \*\* 2/];
const tailLimits = 'src/agent/spans/tail-sampler.ts';
const unshownLimits = 'src/agent/spans/unshown-spans.ts';
const guess = 'src/query/fanout/dearness.ts';
const reviewLimit = 'src/net/auth/review-limit.ts';
const appJwt = 'src/minter/sign/app-jwt.ts';

const claims: Claim[] = [
  { says: ['docs/reference/metrics.md', /beyond the (\d+) MiB that each may have/], is: freeBytes },
  {
    says: [critiques, /is Node: (\d+) MB on the node's disk/],
    is: ['scripts/build/bundle.test.ts', /supervisorMegabytes = (\d+)/],
  },
  {
    says: [critiques, /its first points, (\d+) seconds by default/],
    is: ['src/capture/instrument-yaml/builtin.ts', /exportIntervalMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [critiques, /close to the (\d+) MiB that an agent/],
    is: ['bench/agent/budget.ts', /of: 'ours', atMost: (\d+)/],
  },
  {
    says: [critiques, /replays up to (\d+) MiB of log/],
    is: ['src/tsdb/store.ts', /segmentBytes \?\? ([\d *]+)/],
    factor: MiB,
  },
  { says: [critiques, /good for its node for (\d+) days/], is: agentCertificate },
  { says: [adr(9), /synced in groups of (\d+) ms/], is: ['src/agent/ingest/ingest.ts', /groupMs = (\d+)/] },
  { says: [adr(9), /After (\d+) ms a request is answered/], is: ['src/agent/ingest/ingest.ts', /maxWaitMs = (\d+)/] },
  {
    says: [adr(9), /keeps up to (\d+) MiB in memory/],
    is: ['src/tsdb/store.ts', /maxPendingBytes = ([\d *]+)/],
    factor: MiB,
  },
  { says: [adr(10), /again every (\d+) s\./], is: exportSecrets, factor: second },
  { says: [adr(12), /in at most\s+(\d+) MiB, until/], is: [tailLimits, /maxBytes: ([\d *]+)/], factor: MiB },
  {
    says: [adr(14), /share \(at most (\d+) MiB\)/],
    is: ['src/agent/partial/partial-handler.ts', /maxBytes: ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [adr(14), /at most ([\d,]+) series, until/],
    is: ['src/tsdb/head/found-slots.ts', /maxKnownSeries = ([\d_]+)/],
  },
  {
    says: [adr(14), /asked for last \((\d+) bytes/],
    is: ['src/tsdb/head/reader-marks.ts', /writer and takes (\d+) bytes/],
  },
  { says: [adr(14), /estimate \((\d+) bytes a step/], is: [guess, /pushed = (\d+) \* steps/] },
  { says: [adr(14), /against ([\d.]+) bytes for each/], is: [guess, /bytesPerSample: ([\d.]+)/] },
  { says: [adr(14), /bytes for each (\d+) s\)/], is: [guess, /intervalMs: ([\d_]+)/], factor: second },
  { says: [adr(16), /in samples of (\d+) bytes/], is: sampleBytes },
  {
    says: [adr(16), /([\d,]+) million samples that the windows/],
    is: ['src/promql/limits.ts', /windowSamples: ([\d_]+)/],
    factor: 1_000_000,
  },
  {
    says: [adr(19), /agent longer than (\d+) ms/],
    is: ['src/testing/query/adversarial/watched-stage.ts', /longestCpuMs = (\d+)/],
  },
  {
    says: [adr(19), /which fails above (\d+) ms/],
    is: ['src/testing/query/adversarial/watched-stage.ts', /longestCpuMs = (\d+)/],
  },
  {
    says: [adr(20), /and (\d+) million samples a query/],
    is: ['src/promql/plan/metric-expression.ts', /metricSamples = ([\d_]+)/],
    factor: 1_000_000,
  },
  { says: [adr(21), /wait for them, (\d+) seconds at most/], is: [unshownLimits, /waitMs: ([\d_]+)/], factor: second },
  { says: [adr(21), /at most and in (\d+) MiB/], is: [unshownLimits, /maxBytes: ([\d *]+)/], factor: MiB },
  { says: [adr(22), /as a client\. (\d+) days/], is: agentCertificate },
  { says: [adr(22), /stolen key is good for (\d+) days/], is: agentCertificate },
  { says: [adr(23), /with the next read, within (\d+) s/], is: exportSecrets, factor: second },
  { says: [adr(23), /are reviewed (\d+) times a minute/], is: [reviewLimit, /perAddress = (\d+)/] },
  { says: [adr(23), /address and ([\d,]+) times in all/], is: [reviewLimit, /inAll = ([\d_]+)/] },
  {
    says: [adr(24), /one script without imports, (\d+) MB/],
    is: ['scripts/build/bundle.test.ts', /supervisorMegabytes = (\d+)/],
  },
  {
    says: [adr(24), /of all requests within (\d+) %/],
    is: ['e2e/capture/edits.e2e.ts', /Math\.abs\(ratio - 1\) > 0\.0(\d)/],
  },
  {
    says: [adr(49), /at least every (\d+) s/],
    is: ['src/capture/session.ts', /heartbeatSeconds = (\d+)/],
  },
  {
    says: [adr(25), /within (\d+) s and quotes the runtime/],
    is: ['src/agent/capture/obstacles.ts', /lookMs = ([\d_]+)/],
    factor: second,
  },
  { says: [adr(26), /After (\d+) minutes what still runs/], is: ['scripts/test-all.ts', /limitMs = (\d+) \* 60_000/] },
  { says: [adr(27), /lives from (\d+) s before now/], is: [appJwt, /backdateSeconds = (\d+)/] },
  { says: [adr(27), /to (\d+) s after it/], is: [appJwt, /lifeSeconds = (\d+)/] },
  { says: [adr(27), /After (\d+) % of that the next/], is: [appJwt, /age >= reuseSeconds \* (\d+)\)/], factor: 10 },
  {
    says: [adr(29), /\| ([\d,]+) days \| after two thirds \| the next one/],
    is: ['src/net/ca-rotation.ts', /days: (\d+), distributionMs/],
  },
  { says: [adr(29), /query server \| (\d+) days/], is: ['src/net/ca.ts', /days = (\d+)/] },
  // A sample has 16 bytes.
  {
    says: [adr(31), /one query holds \((\d+) MB\)/],
    is: ['src/render/query-options.ts', /hold in memory', default: '(\d+)'/],
    factor: 1e6 / 16,
  },
  {
    says: [adr(31), /container's (\d+) GiB; the kernel/],
    is: ['src/render/query-deployment.ts', /limits: \{ memory: '(\d+)Gi'/],
  },
  { says: [adr(31), /Agents, with (\d+) GiB/], is: ['src/render/agent/containers.ts', /limits: \{ memory: '(\d+)Gi'/] },
  {
    says: [adr(31), /shares of (\d+) MB each/],
    is: ['src/agent/partial/partial-handler.ts', /maxSamples: ([\d_]+)/],
    factor: 1e6 / 16,
  },
  { says: [adr(31), /\*\*(\d+) MiB of each query are free/], is: freeBytes },
  // Forty queries: twice the default of `--max-concurrency`.
  { says: [adr(31), /running that is (\d+) MiB/], is: freeBytes, factor: 1 / 40 },
  { says: [adr(31), /and (\d+) MiB free for each/], is: freeBytes },
  { says: [adr(31), /of (\d+) requests that may wait/], is: ['src/net/http/limits.ts', /requests: (\d+)/] },
];

test.each(claims.map((claim) => [claim.says[0], String(claim.says[1]), claim] as const))(
  '%s states what the code says: %s',
  (_document, _sentence, { says, is, factor = 1 }) => {
    expect(numbers(find(is))).toEqual(numbers(find(says)).map((n) => n * factor));
  },
);

/** Measurements, and what repeats them: a script of the package, a target of make, or a test. */
const measured: readonly (readonly [...Sentence, by: string])[] = [
  [critiques, /2,000 monitors are some 450 kB/, 'npm run bench:capture'],
  [critiques, /50,000 series with an hour of history/, 'npm run bench:agent'],
  [adr(15), /A file is some 450 kB for 2,000 monitors/, 'npm run bench:capture'],
  [adr(19), /hostile questions is below 50 ms/, 'src/query/adversarial-questions.test.ts'],
  [adr(24), /On a real kubelet [^]*gaps of 0\.5 to 1\.4 s\./, 'make e2e-node'],
  [adr(34), /killed and away for up to 15 s/, 'make e2e-node'],
  [adr(34), /Measured on two cores [^]*Edits in a row/, 'make e2e-node'],
  [adr(35), /19 MiB of heap for 10,000 pods/, 'npm run bench:topology'],
  [adr(36), /tried with 500 nodes and 2,000 edges/, 'npm run bench:page'],
  [adr(41), /A topology of 500 workloads [^]*? of CPU\./, 'npm run bench:topology'],
];

test.each(measured)('%s: %s is measured by %s', (document, sentence, by) => {
  expect(readFileSync(join(root, document), 'utf8')).toMatch(sentence);
  const [, script] = /^npm run (\S+)$/.exec(by) ?? [];
  const [, target] = /^make (\S+)$/.exec(by) ?? [];
  if (script !== undefined) {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
    expect(Object.keys(scripts)).toContain(script);
  } else if (target !== undefined) {
    expect(readFileSync(join(root, 'Makefile'), 'utf8')).toMatch(new RegExp(`^${target}:`, 'm'));
  } else expect([by, existsSync(join(root, by))]).toEqual([by, true]);
});

/** Facts about other projects, with their sources. */
const ofOthers: readonly (readonly [...Sentence, of: string])[] = [
  [adr(17), /in the 1 MiB of a ConfigMap/, 'kubernetes.io/docs/concepts/configuration/configmap'],
  [adr(24), /10 s of back-off[^]*waited 160 s/, 'kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle'],
  [adr(24), /2 to\s+30 s after it read its file/, 'opentelemetry.io/docs/zero-code/obi'],
  [adr(24), /up to 10 s with Go tracers/, 'opentelemetry.io/docs/zero-code/obi'],
  [adr(27), /platform's limit of 600 s/, 'docs.github.com/apps: about JSON web tokens'],
];

test.each(ofOthers)('%s still has the sentence %s, a fact from %s', (document, sentence) => {
  expect(readFileSync(join(root, document), 'utf8')).toMatch(sentence);
});

test('a bucket of an exponential histogram is as wide as the decision says', () => {
  const [, at5, at3] = /straddles the bound \(([\d.]+) % of its\s+value at scale 5, (\d+) % at scale 3\)/.exec(
    readFileSync(join(root, adr(12)), 'utf8'),
  )!;
  const percent = (scale: number): number => 100 * (2 ** (2 ** -scale) - 1);
  expect([percent(5).toFixed(1), percent(3).toFixed(0)]).toEqual([at5, at3]);
});

const sentences: Sentence[] = [
  ...claims.map(({ says }) => says),
  ...[...measured, ...ofOthers].map(([document, sentence]): Sentence => [document, sentence]),
  [adr(12), /2\.2 % of its\s+value at scale 5, 9 %/],
];
const documents = [
  'docs/reference/metrics.md',
  'docs/security.md',
  'SECURITY.md',
  critiques,
  ...globSync('docs/adr/*.md', { cwd: root }),
];

test.each(documents)('every quantity in the text of %s has a source in this test', (file) => {
  expect(unclaimed(file, sentences)).toEqual([]);
});

test('there are decisions', () => expect(documents.length).toBeGreaterThan(40));

test('a critique has at most 40 words', () => {
  const entries = readFileSync(join(root, critiques), 'utf8').match(/^- .*$/gm)!;
  expect(entries.length).toBeGreaterThan(80);
  const words = (entry: string): number =>
    entry
      .slice(2)
      .replace(/\]\([^)]*\)/g, ']')
      .split(/\s+/).length;
  expect(entries.filter((entry) => words(entry) > 40)).toEqual([]);
});
