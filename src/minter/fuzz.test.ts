import fc from 'fast-check';
import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { costs } from '../testing/minter-world/refusals.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';
import { heapAfterGc } from '../testing/heap.ts';
import { until } from '../testing/until.ts';

/** Set by `npm run fuzz:minter`, which sends as many requests as fit into this time; 0: a few hundred requests. */
const seconds = Number(process.env.MINTER_FUZZ_SECONDS ?? 0);
const partMs = (seconds * 1_000) / 4;
const amount =
  seconds > 0
    ? { numRuns: 10_000_000, interruptAfterTimeLimit: partMs, markInterruptAsFailure: false }
    : { numRuns: 80 };
const time = Math.max(60_000, 2 * partMs);
/** The sizes of a token and of a body in the memory test: close to the read limits. Units: bytes. */
const [heavyToken, heavyBody] = [14_000, 30_000];
/** The number of warm-up requests of the memory test, and the least number of measured ones. */
const [warmUp, measured] = [60, 120];
/** The allowed heap growth: more than V8's compiled code, less than all sent tokens or bodies. Units: bytes. */
const flatBytes = 600_000;

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

/** Checks what the minter logged since the last check and forgets it, so that each test is checked on its own. */
function nothingSecretWasLogged(): void {
  expect(minter.output()).toContain('"decision":"deny"');
  expect(minter.output()).not.toMatch(/ghs_|eyJ|PRIVATE KEY|unexpected error/);
  minter.forget();
}

/** Expects that every request is answered with a 4xx and mints nothing. Returns the number of answers per status. */
async function neverMints(arbitrary: fc.Arbitrary<() => ReturnType<typeof askToken>>): Promise<Record<number, number>> {
  const before = costs({ world, minter });
  const met: Record<number, number> = {};
  await fc.assert(
    fc.asyncProperty(arbitrary, async (ask) => {
      const answer = await ask();
      met[answer.status] = (met[answer.status] ?? 0) + 1;
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }),
    amount,
  );
  expect(costs({ world, minter })).toEqual(before);
  nothingSecretWasLogged();
  return met;
}

test(
  'a mutated token mints nothing and causes no 5xx',
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
  'a correctly signed token with odd claims causes no 5xx, and mints nothing without the right email',
  async () => {
    const claimArb = fc.dictionary(
      fc.constantFrom('iss', 'aud', 'sub', 'exp', 'iat', 'nbf', 'email_verified', '__proto__', 'actor'),
      fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(0, -1, 1e300, '', true, null)),
    );
    const met = await neverMints(
      fc.tuple(fc.oneof(fc.constant({}), claimArb), fc.oneof(fc.emailAddress(), fc.jsonValue({ maxDepth: 2 }))).map(
        ([odd, email]) =>
          () =>
            askToken(minter, world.issuer.sign({ ...world.issuer.claims(agentEmail, audience), ...odd, email })),
      ),
    );
    // Odd claims make the token invalid (401); a token in which only the email is odd is refused by the rules (403).
    expect(Math.min(met[401] ?? 0, met[403] ?? 0)).toBeGreaterThan(3);
  },
  time,
);

test(
  'a body that asks for more than the rules grant mints nothing and causes no 5xx',
  async () => {
    const token = world.issuer.token(agentEmail, audience);
    const text = JSON.stringify({ org_name: 'acme', repositories: ['secret-plans'], scope: 'platform-agent-scope' });
    const wellFormed = fc.record(
      {
        org_name: fc.constant('acme'),
        repositories: fc.shuffledSubarray(['gitops', 'extra', 'other']).map((names) => [...names, 'secret-plans']),
        scope: fc.constant('platform-agent-scope'),
        permissions: fc.constantFrom({ contents: 'read' }, { issues: 'write' }),
      },
      { requiredKeys: ['org_name', 'repositories', 'scope'] },
    );
    const bodies = fc.oneof(
      mutated(text),
      wellFormed.map((body) => JSON.stringify(body)),
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
    const met = await neverMints(bodies.map((body) => () => askToken(minter, token, body)));
    // Malformed bodies give 400; well-formed bodies that the rules refuse give 403.
    expect(Math.min(met[400] ?? 0, met[403] ?? 0)).toBeGreaterThan(3);
  },
  time,
);

test(
  'a mutated body mints only if it still asks for what the rules grant',
  async () => {
    const token = world.issuer.token(agentEmail, audience);
    const asked = { org_name: 'acme', repositories: ['gitops'], scope: 'platform-agent-scope' };
    const text = JSON.stringify(asked);
    const bodies = fc.oneof(mutated(text), fc.constantFrom(`${text} `, `\n${text}`, text.replace(':', ' : ')));
    const met = { minted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const { status, text: answer } = await askToken(minter, token, body);
        met[status === 200 ? 'minted' : 'refused']++;
        if (status !== 200) return expect([400, 401, 403, 413, 415]).toContain(status);
        const issued = world.platform.state.tokens.get(answer);
        expect([JSON.parse(body), issued?.repositories]).toEqual([asked, ['gitops']]);
      }),
      amount,
    );
    expect(Math.min(met.minted, met.refused)).toBeGreaterThan(5);
    nothingSecretWasLogged();
  },
  time,
);

test(
  'memory stays flat however many requests are refused',
  async () => {
    const token = world.issuer.token(agentEmail, audience);
    let asked = 0;
    /** Sends ten different requests concurrently: mutated tokens, bodies that are not JSON, ungranted repositories. */
    const some = async (): Promise<void> => {
      const asks = Array.from({ length: 10 }, (_, i) => {
        const id = String(asked++);
        if (i % 2 === 0) return askToken(minter, `${token.slice(0, 40)}${id.padEnd(heavyToken, 'x')}`);
        const heavy = id.padEnd(heavyBody, 'x');
        return askToken(minter, token, i % 4 === 1 ? `{"org_name": ${heavy}` : { repositories: ['gitops', heavy] });
      });
      for (const { status } of await Promise.all(asks)) expect([400, 401]).toContain(status);
      minter.forget();
    };
    while (asked < warmUp) await some();
    const before = await heapAfterGc();
    const end = performance.now() + partMs;
    while (asked < warmUp + measured || performance.now() < end) await some();
    expect((await heapAfterGc()) - before).toBeLessThan(flatBytes);
  },
  time,
);
