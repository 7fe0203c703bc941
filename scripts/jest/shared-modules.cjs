/*
 * How test files load modules in the realm that they share (`one-realm.cjs`): each module is loaded once in a worker, but
 * for the test files themselves, the files of `setupFilesAfterEnv`, and the part of Jest that knows the tests of one file.
 * Caveats: it holds Jest's registries by their names, which an update of Jest may change; `shared-modules.test.ts` says so.
 */
const { dirname, join } = require('node:path');
const { default: Runtime } = require('jest-runtime');

/** By path. */
const commonJs = new Map();
const ofJest = new Map();
/** By URL. */
const modules = new Map();
/** Its tests are those of the file that loads it. */
const framework = join(dirname(require.resolve('jest-circus')), 'jestAdapterInit.js');

module.exports = class SharedModules extends Runtime {
  constructor(...args) {
    super(...args);
    this.registries.moduleRegistry = commonJs;
    this.registries.internalModuleRegistry = ofJest;
    this.registries.esModuleRegistry = modules;
  }

  /** The runtime itself calls it before it has the registries of all. */
  resetModules() {
    if (this.registries.esModuleRegistry === modules)
      throw new Error('test files share their modules: nothing resets them');
  }

  /** Instead of forgetting everything. What this file was the first to load may import more for later ones. */
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
