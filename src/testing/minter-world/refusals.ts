import type { askToken } from './running-minter.ts';
import { type RunningMinter } from './running-minter.ts';
import type { MinterWorld } from './world.ts';

/**
 * The minter and its surroundings (key service, platform and issuer). A test measures the costs of an attack there and
 * looks for leaks.
 */
export interface Watched {
  world: MinterWorld;
  minter: RunningMinter;
}

export type Answer = Awaited<ReturnType<typeof askToken>>;

/** The number of calls that reached the key service's sign method and the platform. */
export function costs({ world }: Watched): { signs: number; platformCalls: number } {
  return { signs: world.kms.count('AsymmetricSign'), platformCalls: world.platform.appCalls };
}

/**
 * Runs one attack and checks what holds for every refusal: no signature, no call to the platform, less than a second of
 * CPU time (which a busy machine does not change), a body in our JSON form, the protective headers, no token in the
 * answer, and no platform token, no private key and none of `secrets` in any log.
 */
export async function expectRefusal(
  watched: Watched,
  attack: () => Promise<Answer>,
  secrets: readonly string[] = [],
): Promise<Answer> {
  const before = costs(watched);
  const cpuBefore = process.cpuUsage();
  const answer = await attack();
  const cpu = process.cpuUsage(cpuBefore);
  expect(costs(watched)).toEqual(before);
  expect((cpu.user + cpu.system) / 1_000).toBeLessThan(1_000);
  expect(answer.ms).toBeLessThan(10_000);
  expect(answer.text).not.toMatch(/ghs_|eyJ/);
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  expect(Object.keys(body).sort()).toEqual(['error', 'message', 'request_id']);
  expect(answer.headers.get('x-request-id')).toBe(body.request_id);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('x-powered-by')).toBeNull();
  expect(answer.headers.get('etag')).toBeNull();
  const output = watched.minter.output();
  for (const secret of [...secrets, 'ghs_', 'PRIVATE KEY']) if (secret) expect(output).not.toContain(secret);
  return answer;
}
