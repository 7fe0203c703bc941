/*
 * How test files load modules in the realm that they share (`one-realm.cjs`): each module is loaded once in a worker,
 * except the test files themselves, the files of `setupFilesAfterEnv`, and the part of Jest that knows the tests of one
 * file.
 * Caveats: it sets Jest's registries by their names, which an update of Jest may change; `shared-modules.test.ts` fails
 * then.
 */
const { dirname, join } = require('node:path');
const { default: Runtime } = require('jest-runtime');

/** The shared CommonJS modules, by path. */
const commonJs = new Map();
/** The modules of Jest itself, by path. */
const ofJest = new Map();
/** The shared ES modules, by URL. */
const modules = new Map();
/** This module of Jest holds the tests of the file that loads it, so each file loads it anew. */
const framework = join(dirname(require.resolve('jest-circus')), 'jestAdapterInit.js');

module.exports = class SharedModules extends Runtime {
  constructor(...args) {
    super(...args);
    this.registries.moduleRegistry = commonJs;
    this.registries.internalModuleRegistry = ofJest;
    this.registries.esModuleRegistry = modules;
  }

  /** Jest's own constructor calls it, before the shared registries are in place. */
  resetModules() {
    if (this.registries.esModuleRegistry === modules)
      throw new Error('test files share their modules: nothing resets them');
  }

  /**
   * Forgets less than Jest does: a shared module that this test file was the first to load may still import further
   * modules, through this object, when later test files use it.
   */
  teardown() {
    this.restoreAllMocks();
    this.fileCache.clear();
    this.transformCache.clear();
    this.jestGlobals.clearJestObjectCache();
    this.testState.state = 'loading';
    ofJest.delete(framework);
    for (const path of this._config.setupFilesAfterEnv) commonJs.delete(path);
    for (const [url, module] of modules) {
      const isOfOneFile = /\.(test|e2e)\.ts$/.test(url) || url.startsWith('@jest/globals');
      // A module that failed is tried again.
      if (isOfOneFile || module.status !== 'evaluated') modules.delete(url);
    }
  }
};
