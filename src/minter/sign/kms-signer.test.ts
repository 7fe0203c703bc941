import { testKey } from '../../testing/minter-world/keys.ts';
import { publicPem } from '../../testing/fake-kms/key-store.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { crc32c } from '../../base/wire/crc32c.ts';
import { deadlineIn } from '../deadline.ts';
import type { KeyService } from './key-service.ts';
import { KmsSigner } from './kms-signer.ts';

/** A signer whose service answers with the public key after `answerMs`, unless the call's own limit is shorter. */
function setUp(answerMs: number) {
  const clock = new FakeClock();
  const limits: number[] = [];
  const pem = publicPem(testKey('app'));
  const unused = (): never => {
    throw new Error('not called');
  };
  const service: KeyService = {
    publicKey: (name, timeoutMs) => {
      limits.push(timeoutMs);
      return new Promise((resolve, reject) => {
        const answer = { name, algorithm: 'RSA_SIGN_PKCS1_2048_SHA256', pem, pemCrc32c: crc32c(Buffer.from(pem)) };
        if (timeoutMs < answerMs) clock.setTimeout(() => reject(new Error('the call ran out of time')), timeoutMs);
        else clock.setTimeout(() => resolve(answer), answerMs);
      });
    },
    describeVersion: unused,
    signDigest: unused,
    close: unused,
  };
  const signer = new KmsSigner({ service, version: 'v', clock });
  const get = (ms: number): Promise<string> =>
    signer.publicKey(deadlineIn(clock, ms)).then(
      (key) => key.type,
      (error: unknown) => (error as Error).message,
    );
  return { clock, limits, get };
}

test('of callers that share one load of the public key, each waits for it until its own deadline', async () => {
  const { clock, limits, get } = setUp(1_000);
  const [hurried, patient] = [get(300), get(4_000)];
  await clock.advance(300);
  expect(await hurried).toBe('no time left for the key service');
  await clock.advance(700);
  expect(await patient).toBe('public');
  expect(await get(1)).toBe('public');
  expect(limits).toEqual([1_500]);
});

test('a load of the public key that fails is repeated for the next caller, and its timeout does not end the process', async () => {
  const { clock, limits, get } = setUp(2_000);
  const hurried = get(300);
  await clock.advance(300);
  expect(await hurried).toBe('no time left for the key service');
  await clock.advance(1_200);
  await settle();
  const patient = get(4_000);
  await clock.advance(1_500);
  expect(await patient).toBe('the call ran out of time');
  expect(limits).toEqual([1_500, 1_500]);
});
