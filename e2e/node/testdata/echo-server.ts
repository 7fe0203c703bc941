import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/**
 * A small service for tests: `--listen=HOST:PORT`, optionally `--file=PATH`.
 * GET /           the file's content, or "hello"
 * GET /healthz    200, or 500 after POST /break
 * GET /env/NAME   that environment variable
 * POST /break     makes /healthz fail · POST /crash?code=N ends the process
 */
const option = (name: string): string | undefined =>
  process.argv.find((a) => a.startsWith(`--${name}=`))?.slice(name.length + 3);
const [host, port] = (option('listen') ?? '0.0.0.0:8080').split(':');
const file = option('file');
let healthy = true;

const server = createServer((req, res) => {
  const url = new URL(req.url ?? '/', 'http://echo');
  if (url.pathname === '/healthz') {
    res.statusCode = healthy ? 200 : 500;
    return void res.end(healthy ? 'ok' : 'broken');
  }
  if (url.pathname === '/break') {
    healthy = false;
    console.log('broken on request');
    return void res.end('broken');
  }
  if (url.pathname === '/crash') process.exit(Number(url.searchParams.get('code') ?? 1));
  if (url.pathname.startsWith('/env/')) return void res.end(process.env[url.pathname.slice(5)] ?? '');
  res.end(file === undefined ? 'hello' : readFileSync(file, 'utf8'));
});
process.once('SIGTERM', () => {
  console.log('terminated');
  process.exit(0);
});
server.listen(Number(port), host, () => console.log(`listening on ${host}:${port}`));
