import type { Server } from 'node:https';
import { createCa, issueLeaf, type KeyPairPem } from './ca.ts';
import { caBundle, planCa, type CaPlan, type CaState, type CaTiming } from './ca-rotation.ts';
import { createTlsServer } from './https-server.ts';
import { closeServer, listen } from './listen.ts';
import { TlsClient } from './tls-client.ts';
import type { TlsMaterial } from './tls-material.ts';
import { RotatingTls } from '../testing/rotating-tls.ts';

const hour = 3_600_000;
const day = 24 * hour;
const timing: CaTiming = { days: 30, distributionMs: hour, retirementMs: day };
const commonName = 'svc-ca';

/** The states that a CA goes through in one rotation, with the time of each. */
async function life(start: number): Promise<(CaPlan & { at: number })[]> {
  const steps: (CaPlan & { at: number })[] = [];
  let plan = await planCa(undefined, { now: start, commonName, timing });
  steps.push({ at: start, ...plan });
  while (steps.length < 4) {
    const now = plan.nextAt;
    plan = await planCa(plan.state, { now, commonName, timing });
    steps.push({ at: now, ...plan });
  }
  return steps;
}

test('a new CA is trusted before it signs, and the old CA until the certificates that it signed are gone', async () => {
  const [made, trusted, signs, alone] = await life(0);
  const [first, second] = [made!.state.signer.cert, trusted!.state.next!.pair.cert];
  expect(caBundle(made!.state)).toBe(first);
  expect(trusted!.at / day).toBeCloseTo(20, 1);
  expect(trusted!.state.signer.cert).toBe(first);
  expect(caBundle(trusted!.state)).toBe(second + first);
  expect(signs!.at - trusted!.at).toBe(hour);
  expect(signs!.state.signer).toEqual(trusted!.state.next!.pair);
  expect(caBundle(signs!.state)).toBe(second + first);
  expect(alone!.at - signs!.at).toBe(day);
  expect(caBundle(alone!.state)).toBe(second);
  expect([made, trusted, signs, alone].map((step) => step!.changes.length)).toEqual([1, 1, 1, 1]);
});

test('a bundle has each certificate on lines of its own, also one that was stored without a last line break', async () => {
  const [signer, old] = await Promise.all([0, 1].map(() => createCa({ commonName, now: 0 })));
  const state = { signer: { ...signer!, cert: signer!.cert.trimEnd() }, previous: { cert: old!.cert, since: 0 } };
  expect(caBundle(state)).toBe(signer!.cert + old!.cert);
});

test('nothing changes before the time that the plan gives', async () => {
  const steps = await life(0);
  expect(steps).toHaveLength(4);
  for (const { state, nextAt } of steps) {
    const early = await planCa(state, { now: nextAt - 1, commonName, timing });
    expect(early).toEqual({ state, changes: [], nextAt });
  }
});

test('a requested rotation starts immediately; a request during a rotation changes nothing', async () => {
  const { state } = await planCa(undefined, { now: 0, commonName, timing });
  const asked = await planCa(state, { now: hour, commonName, timing, rotate: true });
  expect(asked.state.next).toBeDefined();
  const signs = await planCa(asked.state, { now: asked.nextAt, commonName, timing });
  for (const { state: during, nextAt } of [asked, signs]) {
    const again = await planCa(during, { now: nextAt - 1, commonName, timing, rotate: true });
    expect(again.state).toBe(during);
  }
});

test('an expired CA is replaced immediately', async () => {
  const { state } = await planCa(undefined, { now: 0, commonName, timing });
  const late = await planCa(state, { now: 31 * day, commonName, timing });
  expect(late.state.signer.cert).not.toBe(state.signer.cert);
  expect(late.state.previous).toBeUndefined();
});

test('a next CA whose key is another one never signs: it is made again', async () => {
  const [signer, pair, other] = await Promise.all([0, 1, 2].map(() => createCa({ commonName, now: 0, days: 30 })));
  const state: CaState = { signer: signer!, next: { pair: { ...pair!, key: other!.key }, since: 0 } };
  const due = await planCa(state, { now: hour, commonName, timing });
  expect(due.state.signer).toBe(signer);
  expect(due.state.next?.since).toBe(hour);
  expect(due.state.next?.pair.cert).not.toBe(pair!.cert);
  expect(due.changes).toHaveLength(1);
  const expired = await planCa(state, { now: 31 * day, commonName, timing });
  expect([signer!.cert, pair!.cert]).not.toContain(expired.state.signer.cert);
});

describe('once a clock that ran ahead is right again', () => {
  const made = (now: number): Promise<KeyPairPem> => createCa({ commonName, now, days: timing.days });
  const at = day;

  test('a CA that begins later is replaced immediately, and what is trusted already stays so', async () => {
    const previous = { cert: (await made(0)).cert, since: at + 30 * day };
    const signer = await made(at + day);
    const plan = await planCa({ signer, previous }, { now: at, commonName, timing });
    expect(plan.state.signer.cert).not.toBe(signer.cert);
    expect(caBundle(plan.state)).toBe(plan.state.signer.cert + signer.cert + previous.cert);
    expect(plan.state.previous?.since).toBe(at);
    expect([plan.changes.length, plan.nextAt]).toEqual([1, at + day]);
  });

  test('a CA that begins later is replaced by the next one, if that one has begun', async () => {
    const next = { pair: await made(at), since: at };
    const signer = await made(at + day);
    const plan = await planCa({ signer, next }, { now: at, commonName, timing });
    expect(plan.state).toEqual({ signer: next.pair, previous: { cert: signer.cert, since: at } });
  });

  test('several old CAs stay trusted together for a day', async () => {
    const signer = await made(at + day);
    const previous = { cert: (await made(0)).cert + (await made(0)).cert, since: at };
    const { state, nextAt } = await planCa({ signer, previous }, { now: at, commonName, timing });
    expect(caBundle(state).split('BEGIN CERTIFICATE')).toHaveLength(5);
    expect((await planCa(state, { now: nextAt, commonName, timing })).state).toEqual({ signer: state.signer });
  });

  test('a next CA that begins later is made again', async () => {
    const state: CaState = { signer: await made(0), next: { pair: await made(at + day), since: at + day } };
    const plan = await planCa(state, { now: at, commonName, timing });
    expect(plan.state.signer).toBe(state.signer);
    expect(plan.state.next?.pair.cert).not.toBe(state.next?.pair.cert);
    expect([plan.state.next?.since, plan.changes.length, plan.nextAt]).toEqual([at, 1, at + hour]);
  });

  test('a step that is dated later counts from now', async () => {
    const [signer, pair] = [await made(0), await made(0)];
    const next = await planCa({ signer, next: { pair, since: at + 30 * day } }, { now: at, commonName, timing });
    expect(next).toEqual({ state: { signer, next: { pair, since: at } }, changes: [], nextAt: at + hour });
    const previous = { cert: pair.cert, since: at + 30 * day };
    expect((await planCa({ signer, previous }, { now: at, commonName, timing })).nextAt).toBe(at + day);
  });
});

describe('a step that a lagging clock dated', () => {
  const at = 10 * day;
  const made = (): Promise<KeyPairPem> => createCa({ commonName, now: 0, days: timing.days });

  test('counts from when it was stored: the next CA signs an hour after that', async () => {
    const state: CaState = { signer: await made(), next: { pair: await made(), since: at - 1.5 * hour } };
    const stored = { commonName, timing, storedAt: at };
    const early = await planCa(state, { ...stored, now: at + hour - 1 });
    expect(early).toEqual({ state, changes: [], nextAt: at + hour });
    expect((await planCa(state, { ...stored, now: at + hour })).state.signer).toBe(state.next?.pair);
    // The lagging process itself.
    expect((await planCa(state, { ...stored, now: at - hour })).state).toBe(state);
  });

  test('counts from when it was stored: the old CA is trusted for a day after that', async () => {
    const state: CaState = { signer: await made(), previous: { cert: (await made()).cert, since: at - 2 * day } };
    const stored = { commonName, timing, storedAt: at };
    const early = await planCa(state, { ...stored, now: at + day - 1 });
    expect(early).toEqual({ state, changes: [], nextAt: at + day });
    expect((await planCa(state, { ...stored, now: at + day })).state.previous).toBeUndefined();
  });

  test('counts from a week after its date at most, since each write of the Secret by the operator moves its time', async () => {
    const state: CaState = { signer: await made(), next: { pair: await made(), since: at } };
    const due = at + 7 * day + hour;
    const early = await planCa(state, { commonName, timing, storedAt: due - 1, now: due - 1 });
    expect(early).toEqual({ state, changes: [], nextAt: due });
    const late = await planCa(state, { commonName, timing, storedAt: due, now: due });
    expect(late.state.signer).toBe(state.next?.pair);
  });

  test('counts from its date where the clock of the API server ran ahead for more than a day', async () => {
    const state: CaState = { signer: await made(), next: { pair: await made(), since: at } };
    const options = { commonName, timing, storedAt: at + 300 * day, now: at + hour };
    expect((await planCa(state, options)).state.signer).toBe(state.next?.pair);
  });
});

test('a certificate never expires later than the CA that signed it', async () => {
  const ca = await createCa({ commonName, now: 0, days: 1 });
  const { X509Certificate } = await import('node:crypto');
  const leaf = await issueLeaf(ca, { commonName: 'x', dnsNames: ['x'] }, { now: 0, days: 90 });
  expect(new X509Certificate(leaf.cert).validTo).toBe(new X509Certificate(ca.cert).validTo);
});

describe('over real TLS, whether server or client takes each step first', () => {
  const open: Server[] = [];
  afterEach(async () => void (await Promise.all(open.splice(0).map((server) => closeServer(server, 0)))));

  /** The TLS files of one side after each step: a leaf certificate of the CA that signs then, and the trusted CAs. */
  async function materials(name: string, steps: readonly { at: number; state: CaState }[]): Promise<TlsMaterial[]> {
    const result: TlsMaterial[] = [];
    let leaf: KeyPairPem | undefined;
    let signer = '';
    for (const { at, state } of steps) {
      if (!leaf || signer !== state.signer.cert) {
        leaf = await issueLeaf(state.signer, { commonName: name, dnsNames: [`${name}.test`] }, { now: at, days: 29 });
        signer = state.signer.cert;
      }
      result.push({ cert: leaf.cert, key: leaf.key, ca: caBundle(state) });
    }
    return result;
  }

  test.each<[string, boolean]>([
    ['the server first', true],
    ['the client first', false],
  ])('%s: no request fails at any point of the rotation', async (_, serverFirst) => {
    // TLS checks certificates against the real time, so the rotation began 22 days ago: all its certificates are valid.
    const steps = await life(Date.now() - 22 * day);
    const [servers, clients] = [await materials('server', steps), await materials('client', steps)];
    const [serving, asking] = [new RotatingTls(servers[0]!), new RotatingTls(clients[0]!)];
    const server = createTlsServer(serving, (_req, res) => res.end('ok'), { clientNames: ['client'] });
    open.push(server);
    const port = await listen('test', server, { host: '127.0.0.1', port: 0 });
    const kept = new TlsClient(asking);
    const ask = async (client: TlsClient): Promise<string> => {
      const call = { host: '127.0.0.1', port, servername: 'server.test', method: 'GET', path: '/' };
      const answer = await client.request({ ...call, deadlineMs: 5_000, maxBytes: 100 });
      return answer.body.toString();
    };
    /** Three concurrent requests on connections that may be older than the step, and one on a fresh connection. */
    const askEveryWay = async (): Promise<string[]> => {
      const fresh = new TlsClient(asking);
      const answers = await Promise.all([ask(kept), ask(kept), ask(kept), ask(fresh)]);
      fresh.close();
      return answers;
    };
    expect(new Set(steps.map(({ state }) => caBundle(state))).size).toBeGreaterThan(2);
    for (let step = 0; step < steps.length; step++) {
      const [first, second] = serverFirst
        ? [() => serving.rotate(servers[step]!), () => asking.rotate(clients[step]!)]
        : [() => asking.rotate(clients[step]!), () => serving.rotate(servers[step]!)];
      const during = ask(kept);
      first();
      expect(await askEveryWay()).toEqual(['ok', 'ok', 'ok', 'ok']);
      second();
      expect(await askEveryWay()).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(await during).toBe('ok');
    }
    kept.close();
  });
});
