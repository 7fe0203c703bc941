/*
 * The environment of all tests of a worker: one realm (a global object with built-in classes of its own), made for
 * the first test file and kept for those that follow. Jest makes a realm for each file, and with it every module of the
 * product, of its packages and of Jest itself: more than a third of the processor time of a run. The global object of
 * Jest's realm also hands every access to a proxy, which no compiled code can get around; the one here has none.
 * Guarantees: each test file starts with the same global object, environment variables and equality testers as the
 * first file.
 * Limits of time, which end a test or a hook that waits for ever, are stretched by SVC_TEST_PATIENCE.
 * Caveats: what a module keeps (a cache, a counter) is there for the next file.
 * Source: `docs/adr/0047-one-realm-for-a-worker.md`.
 */
const { constants, createContext, runInContext } = require('node:vm');
const { ModuleMocker } = require('jest-mock');
const { installCommonGlobals } = require('jest-util');
const { readPatience } = require('../../src/testing/until.ts');

/** What every realm has, or is given below. */
const own = new Set(['GLOBAL', 'root', 'global', 'globalThis', 'Buffer', 'ArrayBuffer', 'Uint8Array']);
/** Where `expect` keeps what belongs to all of its copies. */
const ofExpect = Symbol.for('$$jest-matchers-object');

/** Node's globals are handed on when they are first used, as loading all of them takes long. */
function createRealm(globals) {
  const context = createContext(constants.DONT_CONTEXTIFY);
  const global = runInContext('globalThis', context);
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (own.has(name) || Object.hasOwn(global, name)) continue;
    const { enumerable } = Object.getOwnPropertyDescriptor(globalThis, name);
    const get = () => globalThis[name];
    const set = (value) =>
      void Object.defineProperty(global, name, { value, enumerable, configurable: true, writable: true });
    Object.defineProperty(global, name, { get, set, enumerable, configurable: true });
  }
  // Node's own modules create objects of these classes, and expect objects of the same classes.
  Object.assign(global, { global, Buffer, ArrayBuffer, Uint8Array });
  installCommonGlobals(global, globals);
  global.Error.stackTraceLimit = 100;
  return { context, global, putBack: putsBack(global) };
}

/** Returns a function that puts the global object and the environment variables back as they are now. */
function putsBack(global) {
  const before = Object.getOwnPropertyDescriptors(global);
  const { env } = global.process;
  const variables = { ...env };
  return () => {
    for (const key of Reflect.ownKeys(global)) {
      const now = Object.getOwnPropertyDescriptor(global, key);
      const then = before[key];
      if (!now.configurable) continue;
      if (then === undefined) delete global[key];
      else if (then.value !== now.value || then.get !== now.get) Object.defineProperty(global, key, then);
    }
    for (const name of Object.keys(env)) if (!Object.hasOwn(variables, name)) delete env[name];
    Object.assign(env, variables);
    global[ofExpect]?.customEqualityTesters.splice(0);
  };
}

const patience = readPatience(process.env);
/** Tests and hooks whose limit is stretched already: some hooks run many times. */
const stretched = new WeakSet();

let realm;

module.exports = class OneRealm {
  // No test uses Jest's fake timers: code that needs a clock takes it as a parameter.
  fakeTimers = null;
  fakeTimersModern = null;

  constructor({ projectConfig }) {
    realm ??= createRealm(projectConfig.globals);
    this.global = realm.global;
    this.moduleMocker = new ModuleMocker(this.global);
  }
  async setup() {}
  handleTestEvent({ name, hook, test }, { testTimeout }) {
    const limited = name === 'hook_start' ? hook : name === 'test_fn_start' ? test : undefined;
    if (!limited || stretched.has(limited)) return;
    stretched.add(limited);
    limited.timeout = (limited.timeout || testTimeout) * patience;
  }
  async teardown() {
    realm.putBack();
  }
  exportConditions() {
    return ['node', 'node-addons'];
  }
  getVmContext() {
    return realm.context;
  }
};
