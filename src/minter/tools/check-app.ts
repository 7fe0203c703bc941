import { createLogger } from '../../base/logger.ts';
import { errorText } from '../../base/errors.ts';
import type { ToolIo } from './tool-io.ts';
import { readBuildInfo } from '../../base/build-info.ts';
import { deadlineIn } from '../deadline.ts';
import { PlatformClient } from '../platform/platform-client.ts';
import { viewOf } from '../platform/installation.ts';
import { askWhoWeAre } from '../platform/platform-monitor.ts';
import { levels, uncovered, type Level } from '../rules/permissions.ts';
import { openKeyService } from '../sign/open-key-service.ts';
import type { SettingValues } from '../../base/settings.ts';
import type { checkSettingTable } from '../setting-table.ts';
import { keyProviderOf } from '../settings.ts';
import { AppJwtSource } from '../sign/app-jwt.ts';
import { KeyMonitor } from '../sign/key-monitor.ts';
import { KmsSigner } from '../sign/kms-signer.ts';

/** The permissions that the minter of config/samples and the platform agent need. */
const expected = new Map<string, Level>([
  ['contents', 'write'],
  ['pull_requests', 'write'],
  ['issues', 'write'],
]);

/**
 * `minter tools check`: makes one signature, then asks the platform which App the key belongs to and where that App is
 * installed. Prints a line per finding; resolves with the exit code, 0 when all requirements of a mint are met.
 */
export async function checkApp(values: SettingValues<typeof checkSettingTable>, io: ToolIo): Promise<number> {
  const logger = createLogger({ level: 'warn', write: io.stderr });
  const { clock } = io;
  const { vcsOrg: org, vcsAppId: appId } = values;
  const service = await openKeyService(keyProviderOf(values), { clock, logger });
  try {
    const signer = new KmsSigner({ service, version: values.kmsKeyVersion, clock });
    const key = await new KeyMonitor(signer, clock).check();
    io.stdout(`key: ${key.reason}: ${key.message}\n`);
    if (key.status !== 'True') return 1;
    const jwts = new AppJwtSource({ appId, signer, reuseSeconds: 240, clock, logger });
    const userAgent = `svc-minter/${readBuildInfo(io.env).version}`;
    const platform = new PlatformClient({ apiBaseUrl: values.vcsApiBaseUrl, userAgent, clock });
    const app = await askWhoWeAre({ appId, jwts, platform, clock });
    io.stdout(`app: ${app.verdict}: ${app.message}\n`);
    if (app.verdict !== 'matches') return 1;
    const deadline = deadlineIn(clock, 6_000);
    const jwt = await jwts.get(deadline);
    const answer = await platform.call('get_installation', jwt.token, { org }, deadline);
    const view = viewOf(answer, org, appId);
    if (view?.state !== 'found') {
      io.stdout(`installation: ${view?.state ?? `the platform answered ${answer.status}`}\n`);
      return 1;
    }
    const held = [...view.permissions].map(([name, level]) => `${name}:${level}`).join(' ');
    io.stdout(`installation: found, id ${view.id}: ${held}\n`);
    const missing = [...expected].filter((pair) => uncovered(new Map([pair]), view.permissions) !== null);
    for (const [name, level] of missing) io.stdout(`missing permission: ${name}:${level} (of ${levels.join(' < ')})\n`);
    return missing.length === 0 ? 0 : 1;
  } catch (error) {
    io.stderr(`check: ${errorText(error)}\n`);
    return 1;
  } finally {
    await service.close();
  }
}
