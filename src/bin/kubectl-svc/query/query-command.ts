import type { Register } from '../command.ts';
import { json } from '../output/print.ts';

/** `kubectl svc query`. */
export const registerQuery: Register = (command, run) => {
  command.argument('<expression>', 'PromQL').action(
    run(async (session, expression: string) => {
      const server = await session.connect();
      const form = new URLSearchParams({ query: expression });
      const { text } = await server.request({ path: '/api/v1/query', form, signal: session.signal });
      session.stdout.write(json(JSON.parse(text)));
    }),
  );
};
