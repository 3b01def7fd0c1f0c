/** The pages where keys are listed, made, shown once, replaced, suspended and ended. */
import type { Hono } from 'hono';
import { serveAddressed } from './addressed.ts';
import { serveNewKeys } from './create.ts';
import { showList } from './list.ts';
import { serveOneKey } from './manage.ts';
import { ADDRESSING, BASE, KEYS } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env } from './visit.ts';

/** Serves them all; the sign-in is to be served before. */
export function serveKeys(app: Hono<Env>, service: ConsoleService): void {
  const path = KEYS.slice(BASE.length);
  app.get(path, (c) => showList(c, service));
  // Before the page of one key, whose address they would match.
  serveNewKeys(app, path, service);
  serveAddressed(app, ADDRESSING.slice(BASE.length), service);
  serveOneKey(app, path, service);
}
