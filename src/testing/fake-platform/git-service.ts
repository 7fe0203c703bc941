import { spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface GitOptions {
  /** The folder of the bare repositories, each at `<owner>/<name>.git`. */
  root: string;
}

/**
 * Serves git over HTTP with git's own CGI program, so that a real client can fetch and push. The caller checks the
 * permissions first.
 */
export function gitService(options: GitOptions, req: IncomingMessage, res: ServerResponse, url: URL): Promise<void> {
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH ?? '',
      GIT_PROJECT_ROOT: options.root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'http.receivepack',
      GIT_CONFIG_VALUE_0: 'true',
      GIT_CONFIG_KEY_1: 'safe.directory',
      GIT_CONFIG_VALUE_1: '*',
      REMOTE_USER: 'app',
      REQUEST_METHOD: req.method ?? 'GET',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: req.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(req.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  req.pipe(child.stdin);
  return new Promise((resolve) => {
    let head = Buffer.alloc(0);
    let sent = false;
    child.stdout.on('data', (chunk: Buffer) => {
      if (sent) return void res.write(chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      sent = true;
      writeHead(res, head.subarray(0, end).toString());
      res.write(head.subarray(end + 4));
    });
    child.on('close', () => {
      if (!sent) res.writeHead(500);
      res.end();
      resolve();
    });
  });
}

/** Sends CGI headers as HTTP headers. The `Status` header becomes the HTTP status. */
function writeHead(res: ServerResponse, head: string): void {
  let status = 200;
  for (const line of head.split('\r\n')) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else if (name) res.setHeader(name, value);
  }
  res.writeHead(status);
}
