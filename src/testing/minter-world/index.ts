/**
 * Every service that the minter calls, as a server on loopback whose faults a test can set. For tests, demos and users.
 */
export { FakeIssuer, type FakeIssuerOptions, type JwksFault } from '../fake-issuer/fake-issuer.ts';
export { FakeKms, type KmsFaults } from '../fake-kms/fake-kms.ts';
export {
  FakePlatform,
  type FakePlatformOptions,
  type PlatformFault,
  type PlatformRoute,
} from '../fake-platform/fake-platform.ts';
export { createControlServer } from './control-server.ts';
export { privatePem, testKey } from './keys.ts';
export { askToken, startMinter, untilReady, type RunningMinter } from './running-minter.ts';
export {
  agentEmail,
  agentRules,
  audience,
  startMinterWorld,
  type MinterWorld,
  type MinterWorldOptions,
} from './world.ts';
