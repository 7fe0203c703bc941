import type { OperatorLogger } from '../kube/dot-i.ts';
import { RuntimeOperator, type RuntimeOperatorOptions } from '../runtime/dot-i-operator.ts';
import type { Manager } from '../runtime/index.ts';
import type { Converters } from '../net/webhook/conversion.ts';
import { ClientCa } from './admission/client-ca.ts';
import { conversions } from './admission/conversions.ts';
import { setupAdmission } from './admission/setup.ts';
import { setupAgentCertificates } from './agent-certificates/setup.ts';
import { WaitingAgents } from './agent-certificates/waiting.ts';
import { setupCapture } from './capture/setup.ts';
import { setupClusterTrafficPolicies } from './traffic-status/policies.ts';
import { setupDepartedNodes } from './departed-nodes/setup.ts';
import { setupMinterDeployment } from './minter-deployment/index.ts';
import { platformInput, type OperatorSettings } from './operator-settings.ts';
import { announceTrouble, PlatformTrouble, setupPlatform, setupPlatformWatch } from './platform/index.ts';
import { instrumentVersion } from '../render/index.ts';
import { setupTrafficMonitors } from './traffic-status/monitors.ts';

/**
 * The operator's entry class: dot-i's `Operator` on our runtime. `init` registers the controllers and does no I/O; the
 * manager does everything else.
 */
export class SvcOperator extends RuntimeOperator {
  readonly #settings: OperatorSettings;
  readonly #converters: Converters;

  constructor(
    settings: OperatorSettings,
    logger: OperatorLogger,
    options: RuntimeOperatorOptions,
    converters: Converters = conversions,
  ) {
    super(logger, options);
    this.#settings = settings;
    this.#converters = converters;
  }

  /** The runtime underneath, for the health and metrics server. */
  get runtime(): Manager {
    return this.manager;
  }

  protected override init(): Promise<void> {
    const { namespace, obiInstrumentPorts, customMetrics, externalMetrics } = this.#settings;
    const platform = platformInput(this.#settings);
    const trouble = new PlatformTrouble();
    const waiting = new WaitingAgents();
    setupPlatform(this.manager, platform, { customMetrics, externalMetrics, trouble, waiting });
    setupPlatformWatch(this.manager, { namespace, trouble });
    announceTrouble(this.manager, namespace, trouble);
    setupMinterDeployment(this.manager, { namespace });
    const environment = {
      instrumentVersion: instrumentVersion(platform),
      allowExtraConfig: this.#settings.allowExtraConfig,
    };
    const hub = setupCapture(this.manager, {
      namespace,
      ...environment,
      instrumentPorts: obiInstrumentPorts,
    });
    setupAgentCertificates(this.manager, { namespace, waiting, onIssued: (node) => hub.certified(node) });
    setupDepartedNodes(this.manager, {
      namespace,
      keepMs: (node) => hub.metricsKeptMs(node),
      onKeepChange: (listener) => hub.onChange(({ compiled }) => compiled && listener()),
    });
    setupTrafficMonitors(this.manager, hub, namespace);
    setupClusterTrafficPolicies(this.manager, hub, { trouble, query: platform.query ?? {} });
    const { admissionClientCaFile } = this.#settings;
    setupAdmission(this.manager, {
      namespace,
      mode: this.#settings.admission,
      bindAddress: this.#settings.bindAddress,
      port: this.#settings.admissionPort,
      url: this.#settings.admissionUrl,
      clientCa: admissionClientCaFile === '' ? null : new ClientCa(admissionClientCaFile),
      clientNames: this.#settings.admissionClientNames,
      shutdownQuietMs: this.#settings.shutdownQuiet,
      converters: this.#converters,
      environment,
    });
    return Promise.resolve();
  }
}
