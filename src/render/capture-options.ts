import { booleanSetting, portListSetting, textSetting } from '../base/settings.ts';
import { platformDefaults } from './input.ts';

/**
 * The operator's flags that decide what is captured where no policy does. The operator passes them on to the query
 * server, so that the page explains capture with the values in force.
 */
export const captureOptionTable = {
  obiInstrumentPorts: portListSetting({
    help: 'ports captured where no policy says otherwise',
    default: platformDefaults.instrumentPorts,
  }),
  instrumentVersion: textSetting(
    {
      help: "version that the instrument is configured for, such as v0.10.0; needed only if the image's tag does not name it",
      default: '',
    },
    /^(v?[0-9]+\.[0-9]+(\.[0-9]+)?)?$/,
    'a version such as v0.10.0',
  ),
  allowExtraConfig: booleanSetting({
    help: "let policies add keys of their own to the instrument's file (spec.instrument.extraConfig)",
    default: 'false',
  }),
} as const;
