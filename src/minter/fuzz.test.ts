import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { costs } from '../testing/minter-world/refusals.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';
import { until } from '../testing/until.ts';

/** A few hundred requests of every day, or, by `npm run fuzz:minter`, as many as go into this time. */
const seconds = Number(process.env.MINTER_FUZZ_SECONDS ?? 0);
const partMs = (seconds * 1_000) / 3;
const amount =
  seconds > 0
    ? { numRuns: 10_000_000, interruptAfterTimeLimit: partMs, markInterruptAsFailure: false }
    : { numRuns: 80 };
const time = Math.max(15_000, 2 * partMs);
/** What the heap may grow by from the first part to the last, bytes: one leaked kilobyte a request would be more. */
const flatBytes = 8 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heapAfterGc = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

let world: MinterWorld;
let minter: RunningMinter;

beforeAll(async () => {
  world = await startMinterWorld();
  await world.writeRules({ '.yaml': agentRules() });
  minter = await startMinter(world);
  await untilReady(minter);
  await until('the readiness', minter.readiness, {
    good: (report) => report.checks.every((check) => check.status === 'True'),
  });
});

afterAll(async () => {
  await minter.stop();
  await world.stop();
});

/** A text with some characters replaced, removed, doubled or put in. */
const mutated = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.nat(), fc.constantFrom('', 'A', '.', '=', '{', '"', '\\', ',', ' ', '0', '-', '_', '}', ':')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((edits) =>
      edits.reduce((seen, [at, char]) => {
        const i = at % (seen.length + 1);
        return at % 3 === 0 ? seen.slice(0, i) + char + seen.slice(i) : seen.slice(0, i) + char + seen.slice(i + 1);
      }, text),
    );

/** Heap after each part, bytes. */
const heaps: number[] = [];
let asked = 0;

async function neverMints(arbitrary: fc.Arbitrary<() => ReturnType<typeof askToken>>): Promise<void> {
  const before = costs({ world, minter });
  await fc.assert(
    fc.asyncProperty(arbitrary, async (ask) => {
      const answer = await ask();
      asked++;
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }),
    amount,
  );
  expect(costs({ world, minter })).toEqual(before);
  heaps.push(heapAfterGc());
}

test(
  'no changed token mints, and none is a bug of ours',
  async () => {
    const good = world.issuer.token(agentEmail, audience);
    const headerSafe = /^[!-~]*$/;
    await neverMints(
      mutated(good)
        .filter((text) => text !== good && headerSafe.test(text))
        .map((text) => () => askToken(minter, text)),
    );
  },
  time,
);

test(
  'no token of odd claims, correctly signed, is a bug of ours, and none mints without the right email',
  async () => {
    const claimArb = fc.dictionary(
      fc.constantFrom('iss', 'aud', 'sub', 'exp', 'iat', 'nbf', 'email_verified', '__proto__', 'actor'),
      fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(0, -1, 1e300, '', true, null)),
    );
    await neverMints(
      fc.tuple(claimArb, fc.jsonValue({ maxDepth: 2 })).map(
        ([odd, email]) =>
          () =>
            askToken(minter, world.issuer.sign({ ...world.issuer.claims(agentEmail, audience), ...odd, email })),
      ),
    );
  },
  time,
);

test(
  'no body mints unless it asks for exactly what the rules give, and none is a bug of ours',
  async () => {
    const token = world.issuer.token(agentEmail, audience);
    const text = JSON.stringify({ org_name: 'acme', repositories: ['secret-plans'], scope: 'platform-agent-scope' });
    const bodies = fc.oneof(
      mutated(text),
      fc.uint8Array({ maxLength: 300 }),
      fc.json(),
      fc
        .record({
          org_name: fc.jsonValue(),
          repositories: fc.jsonValue(),
          scope: fc.jsonValue(),
          permissions: fc.jsonValue(),
        })
        .map((body) => JSON.stringify(body)),
    );
    await neverMints(bodies.map((body) => () => askToken(minter, token, body)));
  },
  time,
);

test('nothing secret was logged on the way', () => {
  expect(minter.output()).toContain('"decision":"deny"');
  expect(minter.output()).not.toMatch(/ghs_|eyJ|PRIVATE KEY|unexpected error/);
});

test('memory is flat over all of it', () => {
  if (seconds > 0)
    console.log(`${asked} requests; heap in MiB: ${heaps.map((b) => (b / 2 ** 20).toFixed(1)).join(', ')}`);
  expect(heaps.at(-1)! - heaps[0]!).toBeLessThan(flatBytes);
});
