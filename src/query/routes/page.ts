import express from 'express';
import type { Express } from 'express';

/** The page loads nothing from other origins, has no inline script or style, and may not be framed. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Views of the page that have URLs of their own. `ui/state/place.ts` has the same list. */
const views = ['services', 'service', 'map', 'live', 'graph', 'nodes', 'objects'];

/**
 * Serves a folder of built files: `index.html` at `/` and at each view, the rest by name.
 * The page holds no data, so it needs no token; its data comes from the API, which needs one.
 */
export function servePage(app: Express, dir: string): void {
  const secure = express.Router();
  secure.use((_req, res, next) => {
    res.set({
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    next();
  });
  secure.get(
    views.map((view) => `/${view}`),
    (_req, res) => res.sendFile('index.html', { root: dir, etag: true }),
  );
  secure.use(express.static(dir, { index: 'index.html', dotfiles: 'ignore', redirect: false, etag: true }));
  app.get(/^\/(?!api\/|-\/)/, secure);
}
