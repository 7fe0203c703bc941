import express from 'express';
import type { Express } from 'express';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

export type Protocol = 'http1' | 'http2';

/**
 * Makes an application take the requests of HTTP/2's compatibility layer. Express gives every request its own
 * prototype, which is made for HTTP/1: here the same methods stand on HTTP/2's.
 */
export function useHttp2(app: Express): void {
  const own = app as unknown as { request: object; response: object };
  own.request = onPrototype(express.request, Http2ServerRequest.prototype, app);
  own.response = onPrototype(express.response, Http2ServerResponse.prototype, app);
}

function onPrototype(methods: object, prototype: object, app: Express): object {
  const copy = Object.create(prototype, Object.getOwnPropertyDescriptors(methods)) as object;
  return Object.create(copy, { app: { configurable: true, enumerable: true, writable: true, value: app } }) as object;
}
