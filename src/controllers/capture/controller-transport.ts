import type { AgentTransport } from '../../capture/index.ts';
import { coreResources } from '../../kube/index.ts';
import { plainTimer } from '../../net/attended-timer.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { names } from '../../render/index.ts';
import { oneObject, type ControllerEnvironment } from '../../runtime/index.ts';
import { secretTls } from '../secret-tls.ts';

/**
 * The transport to the agents with the controller's own certificate, from its Secret; null until the Secret exists.
 * `anyServer` skips the check of the agents' certificates; see `TlsClient`.
 */
export function controllerTransport(
  env: ControllerEnvironment,
  namespace: string,
  { anyServer = false } = {},
): { transport(): AgentTransport | null; onChange(fn: () => void): void } {
  const name = { namespace, name: names.controllerTls };
  const secrets = env.cache.informer(oneObject(coreResources.secrets, name));
  const identity = secretTls(secrets, name, env.logger);
  let client: TlsClient | null = null;
  return {
    transport() {
      const source = identity.source();
      if (!client && source) client = new TlsClient(source, plainTimer, { anyServer });
      return client;
    },
    onChange: (fn) => void secrets.onEvent(fn),
  };
}
