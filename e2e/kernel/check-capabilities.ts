import { captureCapabilities } from '../../src/render/agent/instrument.ts';
import type { Check } from './check.ts';
import { countsOn } from './check-requests.ts';

/** The capabilities that the instrument needs on this kernel. It needs SYS_RESOURCE only before Linux 5.11. */
const capabilities = captureCapabilities.filter((name) => name !== 'SYS_RESOURCE');

/** Takes each capability away: the status reports it, and clears when the capabilities are back. */
export const missingCapabilities: readonly Check[] = [
  ...capabilities.map((name): Check => ({
    what: `without CAP_${name} the status says so`,
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument(name);
      return stage.condition('shop', 'Capturing', 'False/MissingCapability', `CAP_${name}`);
    },
  })),
  {
    what: 'without CAP_SYS_ADMIN, as by default, the status says that Go and TLS are not captured; Node is captured',
    real: true,
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument('SYS_ADMIN');
      await countsOn(stage, 'node');
      return stage.condition('shop', 'Capturing', 'True/TrafficSeen', 'refuses uprobes without SYS_ADMIN');
    },
  },
  {
    what: 'with all capabilities the same monitor captures again, Go as well',
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument();
      await countsOn(stage, 'go');
      return stage.condition('shop', 'Programmed', 'True/Programmed');
    },
  },
];
