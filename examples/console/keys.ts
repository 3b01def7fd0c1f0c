/** The pages that list, create, rotate, suspend and revoke keys. */
import type { Hono } from 'hono';
import { serveAddressed } from './addressed.ts';
import { serveNewKeys } from './create.ts';
import { showList } from './list.ts';
import { serveOneKey } from './manage.ts';
import { ADDRESSING, BASE, KEYS } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env } from './visit.ts';

/** Call it after the sign-in is in place: these pages are for members only. */
export function serveKeys(app: Hono<Env>, service: ConsoleService): void {
  const path = KEYS.slice(BASE.length);
  app.get(path, (c) => showList(c, service));
  // Before the page of one key, whose route would match these paths too.
  serveNewKeys(app, path, service);
  serveAddressed(app, ADDRESSING.slice(BASE.length), service);
  serveOneKey(app, path, service);
}
