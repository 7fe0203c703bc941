/**
 * The token minter exchanges an identity token of a cloud service account for a one-hour token for exactly the
 * requested repositories. Rules decide locally; a key service signs; the hosting platform grants; the grant is compared
 * with the request.
 */
export { runMinterServer } from './run.ts';
export { minterSettings } from './settings.ts';
export { loopbackEndpoint, minterSettingTable } from './setting-table.ts';
export { createKmsClient } from './sign/kms-client.ts';
export { importPrivateKey } from './tools/import-private-key.ts';
export { checkApp } from './tools/check-app.ts';
export type { ToolIo } from './tools/tool-io.ts';
export { validateRules, type ValidateRulesOptions } from './tools/validate-rules.ts';
