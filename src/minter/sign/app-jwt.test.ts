import { silentLogger } from '../../base/logger.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { deadlineIn } from '../deadline.ts';
import { AppJwtSource, type AppJwt } from './app-jwt.ts';

function setUp(reuseSeconds = 240) {
  const clock = new FakeClock();
  const signed: { claims: Record<string, unknown>; finish: () => void }[] = [];
  const signer = {
    version: 'v',
    sign: (message: Uint8Array) =>
      new Promise<Uint8Array>((resolve) => {
        const claims = JSON.parse(
          Buffer.from(Buffer.from(message).toString().split('.')[1]!, 'base64url').toString(),
        ) as Record<string, unknown>;
        signed.push({ claims, finish: () => resolve(Buffer.from(`signature ${signed.length}`)) });
      }),
  };
  const source = new AppJwtSource({ appId: 42, signer, reuseSeconds, clock, logger: silentLogger });
  const get = (): Promise<AppJwt> => source.get(deadlineIn(clock, 4_000));
  const getSigned = async (): Promise<AppJwt> => {
    const pending = get();
    await settle();
    signed.at(-1)?.finish();
    return pending;
  };
  return { clock, signed, source, get, getSigned };
}

test('an App JWT carries the App id as a string, is backdated by half a minute and lives nine minutes', async () => {
  const { clock, signed, getSigned } = setUp();
  await getSigned();
  const now = clock.now() / 1000;
  expect(signed[0]!.claims).toEqual({ iss: '42', iat: now - 30, exp: now + 540 });
});

test('a hundred callers wait for one signature', async () => {
  const { signed, get } = setUp();
  const waiting = Array.from({ length: 100 }, get);
  await settle();
  expect(signed).toHaveLength(1);
  signed[0]!.finish();
  expect(new Set((await Promise.all(waiting)).map((j) => j.token)).size).toBe(1);
});

test('an App JWT is reused until its reuse time is over, and renewed in the background before that', async () => {
  const { clock, signed, get, getSigned } = setUp();
  const first = await getSigned();
  await clock.advance(191_000);
  expect(await get()).toBe(first);
  expect(signed).toHaveLength(1);
  await clock.advance(2_000);
  expect(await get()).toBe(first);
  expect(signed).toHaveLength(2);
  signed[1]!.finish();
  await settle();
  expect(await get()).not.toBe(first);
});

test('an App JWT is never used past its reuse time', async () => {
  const { clock, signed, getSigned } = setUp();
  await getSigned();
  await clock.advance(240_000);
  await getSigned();
  expect(signed).toHaveLength(2);
});

test('a jump of the wall clock to the expiry ends the reuse', async () => {
  const { clock, signed, getSigned } = setUp();
  await getSigned();
  clock.jumpWall(490_000);
  await getSigned();
  expect(signed).toHaveLength(2);
});

test('with a reuse time of 0, every call signs a new JWT', async () => {
  const { signed, getSigned } = setUp(0);
  await getSigned();
  await getSigned();
  expect(signed).toHaveLength(2);
});

test('a dropped JWT is replaced once, however many callers drop it', async () => {
  const { signed, source, getSigned } = setUp();
  const first = await getSigned();
  source.drop(first);
  const second = await getSigned();
  source.drop(first);
  expect(await getSigned()).toBe(second);
  expect(signed).toHaveLength(2);
});
