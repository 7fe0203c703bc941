/** A script that serves HTTP on port 8080, and reads plain TCP on port 9000. */
export const serverScript = `
require('node:http').createServer((q, r) => { q.resume(); r.end('hello'); }).listen(8080);
require('node:net').createServer((s) => { s.resume(); s.on('error', () => {}); s.on('end', () => s.end()); }).listen(9000);
`;

/** A script that makes ten requests and one short TCP connection a second. */
export function clientScript(server: string): string {
  return `
const http = require('node:http'), net = require('node:net');
setInterval(() => http.get('http://${server}:8080/cart/1', (r) => r.resume()).on('error', () => {}), 100);
setInterval(() => net.connect(9000, '${server}', function () { this.end('ping'); }).on('error', () => {}), 1000);
`;
}

/** A script that sends `bytes` bytes to the server in one TCP connection. */
export function lumpScript(server: string, bytes: number): string {
  return `require('node:net').connect(9000, '${server}', function () { this.end(Buffer.alloc(${bytes})); });`;
}
