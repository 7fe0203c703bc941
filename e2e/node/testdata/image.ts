import { fileURLToPath } from 'node:url';
import type { ImageTable } from '../container/images.ts';

/** An image for tests: a tiny HTTP server (see echo-server.ts). */
export const echoImage: ImageTable = {
  echo: { entrypoint: [process.execPath, fileURLToPath(new URL('./echo-server.ts', import.meta.url))] },
};
