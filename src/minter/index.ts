/**
 * The token minter exchanges an identity token of a cloud service account for a one-hour token for exactly the
 * requested repositories. The minter's rules decide which account may have which token; a key service signs the
 * minter's own request to the hosting platform; the platform grants the token; the minter compares the grant with what
 * was requested.
 */
export { runMinterServer } from './run.ts';
export { minterSettings } from './settings.ts';
export { loopbackEndpoint, minterSettingTable } from './setting-table.ts';
export { createKmsClient } from './sign/kms-client.ts';
export { importPrivateKey, type ImportOptions } from './tools/import-private-key.ts';
export { checkApp } from './tools/check-app.ts';
export type { ToolIo } from './tools/tool-io.ts';
export { validateRules, type ValidateRulesOptions } from './tools/validate-rules.ts';
