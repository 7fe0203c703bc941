// Jest runs the sources as Node does: types are stripped in place, so lines and columns stay true.
const { stripTypeScriptTypes } = require('node:module');

module.exports = {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
};
